import { verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/** Only the HTTP status counts; the receiver's body is ignored. */
export function verdict(response: PlatformResponse): Verdict {
  const { status } = response;
  if (status === 410) return { kind: 'gone', reason: 'The receiver asked for no more conversions (HTTP 410)' };
  if (status >= 300 && status < 400)
    return { kind: 'rejected', reason: `HTTP ${status}: redirects are not followed, set url to where it leads` };
  return verdictOfStatus(response) ?? { kind: 'delivered' };
}
