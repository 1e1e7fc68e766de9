import { refusedAsAWhole, textAt, unreadable, verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

export function verdict(response: PlatformResponse, items: number): Verdict {
  const { status, json } = response;
  const reason = reasonOf(json);
  // One bad event makes Reddit refuse all of the call, and it says only how many there are.
  if (status === 400 || status === 413 || status === 422) return refusedAsAWhole(reason ?? `HTTP ${status}`, items);
  const refusal = verdictOfStatus(response, reason);
  if (refusal) return refusal;
  const processed = /^Successfully processed (\d+) /i.exec(textAt(json, 'data', 'message') ?? '')?.[1];
  return Number(processed) === items ? { kind: 'delivered' } : unreadable(response);
}

/** Never the events that some answers repeat. */
function reasonOf(json: unknown): string | undefined {
  return (
    textAt(json, 'invalid_events', 0, 'error_message') ??
    textAt(json, 'error', 'explanation') ??
    textAt(json, 'error', 'message') ??
    textAt(json, 'error', 'reason') ??
    textAt(json, 'message') ??
    textAt(json, 'data', 'message')
  );
}
