import { randomUUID } from 'node:crypto';
import { derivedUuid } from '../../kernel/uuid.js';
import { visitorSubject } from '../visitor.js';
import type { TagMessage } from './tag-message.js';
import type { VisitorCookie } from './visitor-cookie.js';

/** The visitor that a call of the tag speaks for. */
export interface CallingVisitor {
  /** From the cookie, or new. */
  readonly id: string;
  /** Absent: the call had no valid cookie and is a visitor of its own. */
  readonly cookie?: VisitorCookie | undefined;
  /** When the call was received. */
  readonly nowMs: number;
}

export function callingVisitor(cookie: VisitorCookie | undefined, nowMs: number): CallingVisitor {
  return cookie ? { id: cookie.id, cookie, nowMs } : { id: randomUUID(), nowMs };
}

/**
 * The id under which the visitor states consent, in hex. A denial deletes the cookie, so the tag sends an id of its own, which
 * it keeps with the decision and which cannot be guessed. Undefined when no later call could prove to be the same visitor.
 */
export function speakerOf({ statement }: Pick<TagMessage, 'statement'>, visitor: CallingVisitor): string | undefined {
  if (statement !== undefined) return visitorSubject(derivedUuid(`statement ${statement}`));
  return visitor.cookie && visitorSubject(visitor.id);
}

/** Subject of what is stored before an email is known. The browser's own id links the calls of a browser without cookies. */
export function anonymousSubject(visitor: CallingVisitor, browser: string | undefined): string {
  return visitorSubject(visitor.cookie || browser === undefined ? visitor.id : browser);
}
