import type { VisitorEvent } from '../events/visitor.events.js';
import type { NewEvent } from '../log/event.js';

/** Subject of an event before the email is known. Erasing a person also erases earlier events of the same visitor. */
export function visitorSubject(visitor: string): string {
  return visitor.replaceAll('-', '');
}

/** Length of a person's subject, the hash of the email. A visitor id is shorter. */
export const PERSON_BYTES = 32;

/** Length of the subject of a visitor that has not given an email. */
export const VISITOR_BYTES = 16;

export function isPerson(subject: string | undefined): subject is string {
  return subject?.length === 2 * PERSON_BYTES;
}

export type NewVisitorEvent = VisitorEvent & NewEvent;
