import { retryAfterMs } from '../http/retry-after.js';
import type { PlatformResponse, Verdict } from './platform.js';

/** What a person has to read of an error. An event must stay small: a conversion has one for each platform. */
const REASON_MAX = 1_000;
/** Only the first 64 KiB of an answer are read: a longer one that is not JSON was probably cut off. */
const CUT_OFF_BYTES = 65_000;
/** Control characters and unpaired surrogates: PostgreSQL rejects NUL and unpaired surrogates. */
const UNSTORABLE = /[\p{Cc}\p{Cs}]/gu;
/** Anchored at the start of a word: unanchored, a word of 64 KiB would take seconds to match. */
const EMAIL = /(?<![^\s"'<>])[^\s"'<>]+(?:@|%40)[^\s"'<>]+/gi;
/** Printable ASCII without spaces and `@`. */
const REQUEST_ID = /^[!-?A-~]{1,500}$/;

/**
 * The verdict that follows from the HTTP status alone; undefined for a 2xx, whose body the platform has to interpret.
 * `reason` is the platform's error message, if there is one.
 */
export function verdictOfStatus(response: PlatformResponse, reason?: string, requestId?: string): Verdict | undefined {
  const { status } = response;
  if (status >= 200 && status < 300) return undefined;
  const message = shorten(reason ?? `HTTP ${status}`);
  if (status === 429) return { kind: 'retry', reason: 'throttled', afterMs: retryAfterMs(response), requestId };
  // 425: the server refused to process a request that might be replayed.
  if (status === 425)
    return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response), unknown: false, requestId };
  if (status === 408 || status >= 500) {
    return { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response), requestId };
  }
  if (status === 401 || status === 403) return { kind: 'unauthorized', reason: message, requestId };
  return { kind: 'rejected', reason: message, requestId };
}

/** An answer that the platform's contract does not define never counts as success. */
export function unreadable(response: PlatformResponse): Verdict {
  return verdictOfStatus(response) ?? { kind: 'retry', reason: 'server_error', afterMs: retryAfterMs(response) };
}

/** The request was refused because of an item that the answer does not identify: a batch is split, a single item rejected. */
export function splitOrReject(reason: string, items: number, requestId?: string): Verdict {
  return { kind: items > 1 ? 'split' : 'rejected', reason: shorten(reason), requestId };
}

/** The platform processed fewer items than it was sent, and the answer does not identify them. */
export function partlyProcessed(processed: number, items: number, reason: string, requestId?: string): Verdict {
  const verdict = splitOrReject(reason, items, requestId);
  return verdict.kind === 'split' ? { ...verdict, unknown: processed > 0 } : verdict;
}

/** The verdict on a request with one item. */
export function verdictOfOne(verdict: Verdict | readonly Verdict[], response: PlatformResponse): Verdict {
  return 'kind' in verdict ? verdict : (verdict[0] ?? unreadable(response));
}

export function withRequestId(verdict: Verdict, requestId: string | undefined): Verdict {
  return verdict.kind === 'resend' || verdict.kind === 'gone' ? verdict : { ...verdict, requestId };
}

/** Whether a successful answer was too long to be read. A smaller batch gets a shorter answer. */
export function isCutOff({ json, status, text }: PlatformResponse): boolean {
  return status >= 200 && status < 300 && json === undefined && Buffer.byteLength(text) > CUT_OFF_BYTES;
}

/**
 * Whether a text can be a request id. It is stored and asked for as it is, so what cannot be stored, and what may be an email
 * address or a sentence, is none.
 */
export function isRequestId(text: string): boolean {
  return REQUEST_ID.test(text);
}

/**
 * Shortens a text to one line that PostgreSQL can store, without the personal data that platforms echo: hashes, email
 * and IP addresses, long numbers. The text is untrusted, so every step runs in linear time.
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
  // Cutting may leave half of a surrogate pair at the end.
  return line.length > REASON_MAX ? `${line.slice(0, REASON_MAX - 1).replace(UNSTORABLE, '')}…` : line;
}

/** Like `shorten`, and also removes everything that may identify a person or a session: click ids, cookies, tokens. */
export function redact(text: string): string {
  return shorten(text.replace(/[\w-]{20,}/g, (word) => (/\d/.test(word) ? '…' : word)));
}

/** Reads a property of an untrusted JSON value; undefined when a step of the path does not exist. */
export function at(value: unknown, ...path: (string | number)[]): unknown {
  let current = value;
  for (const step of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return undefined;
    current = (current as Record<string | number, unknown>)[step];
  }
  return current;
}

export function textAt(value: unknown, ...path: (string | number)[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

export function listAt(value: unknown, ...path: (string | number)[]): readonly unknown[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Joins the non-empty texts with a colon, such as an error code and its message; undefined when there are none. */
export function joined(...texts: readonly (string | undefined)[]): string | undefined {
  return texts.filter(Boolean).join(': ') || undefined;
}
