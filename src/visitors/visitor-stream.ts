import { VISITOR } from '../events/visitor.events.js';
import { derivedUuid, uuidv7 } from '../kernel/uuid.js';
import type { AppendRequest, DedupClaim } from '../log/event.js';
import { inlineOf } from './identifier-record.js';
import type { NewVisitorEvent } from './visitor.js';

/** A new stream with one event, which carries its part for the inline projections. */
export function newVisitorStream(
  actor: string,
  site: string,
  event: NewVisitorEvent,
  claim?: DedupClaim,
): AppendRequest {
  return {
    category: VISITOR,
    stream: uuidv7(),
    expected: 'new',
    site,
    actor,
    events: [{ ...event, inline: inlineOf(event) }],
    claim,
  };
}

/** Key of the dedup claim that limits `visitor.bot_detected.v1` to one per visit. */
export function botClaimKey(visit: string): string {
  return derivedUuid(`bot ${visit}`);
}
