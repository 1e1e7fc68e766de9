const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1_000;

interface WithHeaders {
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
}

/**
 * Reads `Retry-After`, in seconds or as a date; undefined when it is absent, invalid or past. A date is by the clock of the
 * server that sent it, which is in its `Date`. The wait is capped at one day, so that no clock can postpone a retry forever.
 */
export function retryAfterMs({ headers }: WithHeaders, nowMs = Date.now()): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text)
    ? Number(text) * 1_000
    : Date.parse(text) - (Date.parse(headers['date'] ?? '') || nowMs);
  return ms > 0 ? Math.min(ms, RETRY_AFTER_MAX_MS) : undefined;
}
