import { at, unreadable } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { capiVerdict } from './capi-verdict.js';
import { offlineVerdict } from './offline-verdict.js';

/** Of the Campaign Management API's answers; the Conversions API has none of them. */
const OFFLINE_FIELDS = ['PartialErrors', 'OperationErrors', 'Errors', 'TrackingId'];
/** An answer of this length that is no JSON was cut off when it was read. */
const CUT_OFF_BYTES = 65_000;

/** Of both APIs: no answer of the one can be taken for one of the other. */
export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  // Smaller calls have shorter answers, and Microsoft drops the repeats of what it took already.
  if (items > 1 && isCutOff(response)) return { kind: 'split', reason: 'the answer is too long to be read' };
  const isOffline = OFFLINE_FIELDS.some((name) => at(response.json, name) !== undefined);
  return isOffline ? offlineVerdict(response, items) : capiVerdict(response, items);
}

/** Of an answer to a call without events: that it found nothing in it says that it took the token. */
export function credentialsVerdict(response: PlatformResponse): Verdict {
  const { json, status } = response;
  if (status === 400 && at(json, 'error') !== undefined) return { kind: 'accepted' };
  if (status === 200 && at(json, 'eventsReceived') === 0) return { kind: 'accepted' };
  const found = capiVerdict(response, 1);
  return 'kind' in found ? found : (found[0] ?? unreadable(response));
}

function isCutOff({ json, status, text }: PlatformResponse): boolean {
  return status >= 200 && status < 300 && json === undefined && Buffer.byteLength(text) > CUT_OFF_BYTES;
}
