import type { PlatformResponse, Verdict } from './platform.js';

const REASON_MAX = 200;
const RETRY_AFTER_MAX_MS = 24 * 60 * 60 * 1_000;
/** Control characters, and halves of characters: PostgreSQL refuses a NUL and a half. */
const UNSTORABLE = /[\p{Cc}\p{Cs}]/gu;
/** It begins where a word begins: tried from every letter, a word of 64 KiB would take seconds. */
const EMAIL = /(?<![^\s"'<>])[^\s"'<>]+(?:@|%40)[^\s"'<>]+/gi;

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

/** A call was refused because of something in it, and the answer does not say of what: several are tried in halves. */
export function refusedAsAWhole(reason: string, items: number, requestId?: string): Verdict {
  return { kind: items > 1 ? 'split' : 'rejected', reason: shorten(reason), requestId };
}

/** Of `Retry-After`: seconds or a date, and a day at most: whoever errs by a century must not be lost for good. */
export function retryAfterMs({ headers }: PlatformResponse, nowMs = Date.now()): number | undefined {
  const text = headers['retry-after'];
  if (text === undefined) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - nowMs;
  return ms > 0 ? Math.min(ms, RETRY_AFTER_MAX_MS) : undefined;
}

/**
 * One line that any database takes, without what platforms repeat of what they were sent: hashes, email and IP
 * addresses, long numbers. The text is whatever somebody answered, so every step takes time in proportion to it.
 */
export function shorten(text: string): string {
  const line = text
    .replace(/\s+/g, ' ')
    .replace(UNSTORABLE, '')
    .replace(/[0-9a-f]{32,}/gi, '…')
    .replace(EMAIL, '…')
    .replace(/\b\d{1,3}(?:\.\d{1,3}){3}\b|(?:[0-9a-f]{0,4}:){3,7}[0-9a-f]{0,4}/gi, '…')
    .replace(/\+?\d{9,}/g, '…')
    .trim();
  // The cut may go through a character that is two halves.
  return line.length > REASON_MAX ? `${line.slice(0, REASON_MAX - 1).replace(UNSTORABLE, '')}…` : line;
}

/** As `shorten`, and without anything that may be an id of somebody: click ids, cookies, tokens. */
export function redact(text: string): string {
  return shorten(text.replace(/[\w-]{20,}/g, (word) => (/\d/.test(word) ? '…' : word)));
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
