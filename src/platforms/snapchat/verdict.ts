import { at, splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/**
 * Refused events may be answered with 200, so the `status` in the body must be VALID. One invalid event makes Snapchat
 * refuse the whole request. The number `event` in its answer is not documented as the index of that event, so the batch
 * is split instead of rejecting a possibly valid event.
 */
export function verdict(response: PlatformResponse, items: number): Verdict {
  const reason = textAt(response.json, 'errors', 'error_msgs', 0) ?? textAt(response.json, 'reason');
  const statusVerdict = verdictOfStatus(response, reason);
  if (statusVerdict)
    return statusVerdict.kind === 'rejected' ? splitOrReject(statusVerdict.reason, items) : statusVerdict;

  const status = at(response.json, 'status');
  if (status === 'VALID') return { kind: 'delivered' };
  if (status === 'INVALID') return splitOrReject(reason ?? 'INVALID', items);
  return unreadable(response);
}
