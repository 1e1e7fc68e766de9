import { retryAfterMs } from '../../http/retry-after.js';
import { at, shorten, textAt, unreadable, verdictOfOne, verdictOfStatus } from '../common-verdict.js';
import type { OptionalIdentifier } from '../optional-identifiers.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { refusedFields } from '../refused-fields.js';

const IDENTIFIERS: ReadonlyMap<string, OptionalIdentifier> = new Map([
  ['em', 'email'],
  ['ph', 'phone'],
  ...['ct', 'st', 'zp', 'country'].map((name) => [name, 'address'] as const),
  ['external_id', 'externalId'],
  ['click_id', 'click'],
  ['client_ip_address', 'device'],
  ['client_user_agent', 'device'],
]);

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
  if (status === 'failed') {
    const message = textAt(event, 'error_message') ?? 'failed';
    // As in `'event_time' is too old.`
    const [, field = ''] = /^'(?:user_data\.)?(\w+)'/.exec(message) ?? [];
    return refusedFields([IDENTIFIERS.get(field)], shorten(message));
  }
  return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response) };
}
