import { retryAfterMs } from '../../http/retry-after.js';
import { at, shorten, textAt, unreadable, verdictOfOne, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  // When some events failed, the status may be 422; its details probably contain the same list as a 200.
  const events = at(response.json, 'events') ?? at(response.json, 'details', 'events');
  const { status } = response;
  if ((status === 200 || status === 422) && Array.isArray(events) && events.length === items) {
    return events.map((event) => verdictOfEvent(event, response));
  }

  const statusVerdict = verdictOfStatus(response, textAt(response.json, 'message'));
  if (statusVerdict === undefined) return unreadable(response);
  return statusVerdict.kind === 'rejected' && items > 1
    ? { kind: 'split', reason: statusVerdict.reason }
    : statusVerdict;
}

export function testVerdict(response: PlatformResponse): Verdict {
  return verdictOfOne(verdict(response, 1), response);
}

function verdictOfEvent(event: unknown, response: PlatformResponse): Verdict {
  const status = at(event, 'status');
  if (status === 'processed') return { kind: 'delivered' };
  if (status === 'failed') return { kind: 'rejected', reason: shorten(textAt(event, 'error_message') ?? 'failed') };
  return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response) };
}
