import { at, refusedAsAWhole, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/**
 * Refused events may come with a 200: the body's own `status` must say VALID. One bad event makes Snapchat refuse them
 * all. Its answer has a number named `event`, of which nobody says whether it is the event's place: rather than give up
 * on a good one, all are tried again in halves.
 */
export function verdict(response: PlatformResponse, items: number): Verdict {
  const said = textAt(response.json, 'errors', 'error_msgs', 0) ?? textAt(response.json, 'reason');
  const ofStatus = verdictOfStatus(response, said);
  if (ofStatus) return ofStatus.kind === 'rejected' ? refusedAsAWhole(ofStatus.reason, items) : ofStatus;

  const status = at(response.json, 'status');
  if (status === 'VALID') return { kind: 'delivered' };
  if (status === 'INVALID') return refusedAsAWhole(said ?? 'INVALID', items);
  return unreadable(response);
}
