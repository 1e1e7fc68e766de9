import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** A complete HTTP response as a value: built by the handlers, sent in one place. */
export interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export const JSON_TYPE = 'application/json; charset=utf-8';
/** Statuses whose responses have no body. */
const NO_CONTENT = 204;
const NOT_MODIFIED = 304;
const TEXT_TYPE = 'text/plain; charset=utf-8';

export function jsonAnswer(status: number, value: unknown, headers?: Record<string, string>): Answer {
  return { status, type: JSON_TYPE, body: JSON.stringify(value), ...(headers && { headers }) };
}

export function failureAnswer(status: number, error: string, headers?: Record<string, string>): Answer {
  return jsonAnswer(status, { ok: false, error }, headers);
}

export function textAnswer(status: number, body: string, headers?: Record<string, string>): Answer {
  return { status, type: TEXT_TYPE, body, ...(headers && { headers }) };
}

/** 204 No Content. */
export function emptyAnswer(headers: Record<string, string> = {}): Answer {
  return { status: NO_CONTENT, type: '', body: '', headers };
}

/**
 * Headers of every answer, unless it has its own. A proxy that caches by path would give a receipt to senders without
 * the key, and a browser must not take an answer for anything else than its type.
 */
export const ANSWER_HEADERS = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' } as const;

export function sendAnswer(response: ServerResponse, answer: Answer, requestId: string): void {
  // The client may have disconnected, or been answered when its deadline passed.
  if (response.headersSent || response.destroyed) return;
  const headers: OutgoingHttpHeaders = { 'X-Request-Id': requestId, ...ANSWER_HEADERS };
  if (answer.status !== NO_CONTENT && answer.status !== NOT_MODIFIED) {
    headers['Content-Type'] = answer.type;
    headers['Content-Length'] = Buffer.byteLength(answer.body);
  }
  if (answer.headers) Object.assign(headers, answer.headers);
  response.writeHead(answer.status, headers);
  response.end(answer.body);
}
