import { at, retryAfterMs, shorten, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  // A call of which some events failed may be a 422; its details probably hold the same list as a 200.
  const events = at(response.json, 'events') ?? at(response.json, 'details', 'events');
  const { status } = response;
  if ((status === 200 || status === 422) && Array.isArray(events) && events.length === items) {
    return events.map((event) => verdictOfEvent(event, response));
  }

  const ofStatus = verdictOfStatus(response, textAt(response.json, 'message'));
  if (ofStatus === undefined) return unreadable(response);
  return ofStatus.kind === 'rejected' && items > 1 ? { kind: 'split', reason: ofStatus.reason } : ofStatus;
}

export function verdictOfOne(response: PlatformResponse): Verdict {
  const found = verdict(response, 1);
  return 'kind' in found ? found : (found[0] ?? unreadable(response));
}

function verdictOfEvent(event: unknown, response: PlatformResponse): Verdict {
  const status = at(event, 'status');
  if (status === 'processed') return { kind: 'delivered' };
  if (status === 'failed') return { kind: 'rejected', reason: shorten(textAt(event, 'error_message') ?? 'failed') };
  return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response) };
}
