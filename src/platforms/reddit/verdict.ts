import { splitOrReject, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

export function verdict(response: PlatformResponse, items: number): Verdict {
  const { status, json } = response;
  const reason = reasonOf(json);
  // One invalid event makes Reddit refuse the whole request, and the answer contains only the number of invalid events.
  if (status === 400 || status === 413 || status === 422) return splitOrReject(reason ?? `HTTP ${status}`, items);
  const refusal = verdictOfStatus(response, reason);
  if (refusal) return refusal;
  const processed = /^Successfully processed (\d+) /i.exec(textAt(json, 'data', 'message') ?? '')?.[1];
  return Number(processed) === items ? { kind: 'delivered' } : unreadable(response);
}

/** The verdict on reading the owner of the token. A conversion access token may only send. */
export function memberVerdict(response: PlatformResponse): Verdict | undefined {
  const { status, json } = response;
  if (status === 403) return undefined;
  const refusal = verdictOfStatus(response, reasonOf(json));
  return refusal ?? (textAt(json, 'data', 'id') === undefined ? unreadable(response) : { kind: 'accepted' });
}

/** Reads only error messages: some answers also contain the events themselves. */
export function reasonOf(json: unknown): string | undefined {
  return (
    textAt(json, 'invalid_events', 0, 'error_message') ??
    textAt(json, 'error', 'explanation') ??
    textAt(json, 'error', 'message') ??
    textAt(json, 'error', 'reason') ??
    textAt(json, 'message') ??
    textAt(json, 'data', 'message')
  );
}
