import { verdictOfStatus } from '../common-verdict.js';
import type { PlatformResponse, Verdict } from '../platform.js';

/** The status line is the answer; what a receiver writes below it is its own affair. */
export function verdict(response: PlatformResponse): Verdict {
  const { status } = response;
  if (status === 410) return { kind: 'gone', reason: 'The receiver wants no more conversions (HTTP 410)' };
  if (status >= 300 && status < 400)
    return { kind: 'rejected', reason: `HTTP ${status}: redirects are not followed, set url to where it leads` };
  return verdictOfStatus(response) ?? { kind: 'delivered' };
}
