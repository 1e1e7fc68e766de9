import { retryAfterMs } from '../../http/retry-after.js';
import { at } from '../common-verdict.js';
import type { PlatformResponse } from '../platform.js';

const MINUTE_MS = 60_000;
const WAIT_MAX_MS = 24 * 60 * MINUTE_MS;

/**
 * The wait that Meta asks for: `Retry-After`, or the longest time until a limit of a business use case ends, which Meta states in
 * minutes, by the id of the business or account.
 */
export function waitMs(response: PlatformResponse): number | undefined {
  const after = retryAfterMs(response) ?? 0;
  const ms = Math.max(after, Math.min(regainedMs(response), WAIT_MAX_MS));
  return ms > 0 ? ms : undefined;
}

function regainedMs({ headers }: PlatformResponse): number {
  const usage = parsed(headers['x-business-use-case-usage'] ?? '');
  if (typeof usage !== 'object' || usage === null) return 0;
  const minutes = Object.values(usage)
    .flat()
    .map((limit) => at(limit, 'estimated_time_to_regain_access'))
    .filter((time) => typeof time === 'number');
  return Math.max(0, ...minutes) * MINUTE_MS;
}

function parsed(header: string): unknown {
  try {
    return JSON.parse(header);
  } catch {
    return undefined;
  }
}
