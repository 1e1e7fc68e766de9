import type { NewEvent, Personal, StoredEvent } from '../log/event.js';
import type { Judgement, Signals } from './bots/judge.js';
import type { ConsentState } from './consent.js';
import type { TagMessage } from './tag-message.js';

/** Streams of this category hold what one call of the tag brought, and what was thought of it later. */
export const VISITOR = 'visitor';

export type VisitorEvent =
  /** A landing that brought click ids or a campaign. */
  | { type: 'visitor.visited.v1'; data: VisitData }
  /** The visitor told an email: what was seen of the visit now belongs to a person. */
  | { type: 'visitor.identified.v1'; data: VisitData }
  | { type: 'visitor.consent_changed.v1'; data: { visit?: string | undefined; consent: ConsentState } }
  /** At most one a visit. */
  | { type: 'visitor.bot_detected.v1'; data: { visit: string; mode: 'observe' | 'enforce' } & Judgement }
  /** Thought over, with another list. `from` is the score before, `seenAt` when the visit was. */
  | {
      type: 'visitor.rejudged.v1';
      data: { bot: Judgement; mode: 'observe' | 'enforce'; from: number; seenAt: string };
    }
  /** A person asked to be forgotten: how much was, and nothing of whom. */
  | { type: 'visitor.erased.v1'; data: { events: number; identifiers: number; claims: number } };

export interface VisitData {
  readonly visit: string;
  /** Kinds of click ids it brought. */
  readonly clicks: readonly string[];
  readonly campaign: boolean;
  readonly consent?: ConsentState | undefined;
  readonly bot: Judgement;
}

/** What stands beside an event of a visit. `subject` is the email's hash once it is known, the visitor's own id before. */
export interface VisitPersonal extends Personal, Omit<TagMessage, 'subject' | 'visit' | 'signals' | 'consent'> {
  readonly subject: string;
  readonly signals: Signals;
}

export function personalOf(event: StoredEvent): VisitPersonal | null {
  return event.personal as unknown as VisitPersonal | null;
}

/** Whose an event is before an email is known. Erasing a person erases what came from the same visitor before. */
export function visitorSubject(visitor: string): string {
  return visitor.replaceAll('-', '');
}

/** A person's subject is the email's hash; a visitor's own id is shorter. */
export const PERSON_BYTES = 32;

export function isPerson(subject: string | undefined): subject is string {
  return subject?.length === 2 * PERSON_BYTES;
}

export type NewVisitorEvent = VisitorEvent & NewEvent;
