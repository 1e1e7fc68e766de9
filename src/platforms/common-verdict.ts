import type { PlatformResponse, Verdict } from './platform.js';

const REASON_MAX = 200;

/**
 * What a status alone says; undefined for a 2xx, whose body the platform's own verdict must look at. `reason` is what
 * the platform said, if it said something.
 */
export function verdictOfStatus(response: PlatformResponse, reason?: string, requestId?: string): Verdict | undefined {
  const { status } = response;
  if (status >= 200 && status < 300) return undefined;
  const said = shorten(reason ?? `HTTP ${status}`);
  if (status === 429) return { kind: 'retry', reason: 'throttled', afterMs: retryAfterMs(response), requestId };
  if (status === 408 || status === 425 || status >= 500) {
    return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response), requestId };
  }
  if (status === 401 || status === 403) return { kind: 'unauthorized', reason: said, requestId };
  return { kind: 'rejected', reason: said, requestId };
}

/** An answer that is none of those the platform's contract knows is never taken for success. */
export function unreadable(response: PlatformResponse): Verdict {
  return verdictOfStatus(response) ?? { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response) };
}

/** Of `Retry-After`: seconds or a date. */
export function retryAfterMs({ headers }: PlatformResponse, nowMs = Date.now()): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return ms > 0 ? ms : undefined;
}

/** One line, and hashes, addresses and long numbers taken out: platforms like to repeat what they were sent. */
export function shorten(text: string): string {
  const line = text
    .replace(/\s+/g, ' ')
    .replace(/[0-9a-f]{32,}/gi, '…')
    .replace(/[^\s"'<>]+@[^\s"'<>]+/g, '…')
    .replace(/\+?\d{9,}/g, '…')
    .trim();
  return line.length > REASON_MAX ? `${line.slice(0, REASON_MAX - 1)}…` : line;
}

/** A property of an answer that may be anything. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let here = value;
  for (const step of path) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, step)) return undefined;
    here = (here as Record<string | number, unknown>)[step];
  }
  return here;
}

export function textAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : undefined;
}
