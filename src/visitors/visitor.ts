import type { VisitorEvent } from '../events/visitor.events.js';
import { derivedUuid } from '../kernel/uuid.js';
import type { NewEvent } from '../log/event.js';

/** Subject of an event before the email is known. Erasing a person also erases earlier events of the same visitor. */
export function visitorSubject(visitor: string): string {
  return visitor.replaceAll('-', '');
}

/**
 * A visit as it is stored: its random id is in the part of an event that erasure cannot change, and the visitor's browser keeps
 * it, so events contain a digest that is keyed with the site's secret.
 */
export function visitDigest(siteSecret: string, visit: string): string {
  return derivedUuid(JSON.stringify([siteSecret, 'visit', visit]));
}

export type NewVisitorEvent = VisitorEvent & NewEvent;
