import { at, isCutOff, listAt, shorten, textAt, verdictOfOne } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';
import { capiVerdict } from './capi-verdict.js';
import { offlineVerdict } from './offline-verdict.js';

/** Fields in answers of the Campaign Management API; answers of the Conversions API have none of them. */
const OFFLINE_FIELDS = ['PartialErrors', 'OperationErrors', 'Errors', 'TrackingId'];

/** Handles the answers of both APIs; their formats do not overlap. */
export function verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[] {
  // A smaller batch gets a shorter answer, and Microsoft drops duplicates of events that it already accepted.
  if (items > 1 && isCutOff(response)) {
    return { kind: 'split', reason: 'the answer is too long to be read', unknown: true };
  }
  const isOffline = OFFLINE_FIELDS.some((name) => at(response.json, name) !== undefined);
  return isOffline ? offlineVerdict(response, items) : capiVerdict(response, items);
}

/** The verdict on reading the goals for offline conversions, which are named in the settings. */
export function goalsVerdict(response: PlatformResponse, names: readonly string[]): Verdict {
  const { json } = response;
  if (at(json, 'ConversionGoals') === undefined) return verdictOfOne(offlineVerdict(response, 1), response);
  const goals = listAt(json, 'ConversionGoals').map((goal) => textAt(goal, 'Name'));
  const missing = names.find((name) => !goals.includes(name));
  return missing === undefined
    ? { kind: 'accepted' }
    : { kind: 'misconfigured', reason: shorten(`the account has no goal for offline conversions named ${missing}`) };
}

/** The verdict on a request without events: an error about the missing events means that the token was accepted. */
export function credentialsVerdict(response: PlatformResponse): Verdict {
  const { json, status } = response;
  if (status === 400 && at(json, 'error') !== undefined) return { kind: 'accepted' };
  if (status === 200 && at(json, 'eventsReceived') === 0) return { kind: 'accepted' };
  return verdictOfOne(capiVerdict(response, 1), response);
}
