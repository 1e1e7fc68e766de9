import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';

/** Limit of the decoded body, unless the client has another one. */
export const TEXT_MAX_BYTES = 64 * 1024;

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names; the values of a repeated header are joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The beginning, decoded: at most 64 KiB unless the client has another limit. */
  readonly text: string;
  /** The parsed text; undefined if it is not JSON or is truncated. */
  readonly json: unknown;
  /** Whether the body was longer than the text, or in an unsupported encoding. */
  readonly truncated: boolean;
}

export function responseOf(
  status: number,
  headers: HttpResponse['headers'],
  body: Buffer,
  truncated: boolean,
): HttpResponse {
  // The decoder drops an incomplete character at the end.
  const decoded = truncated ? new StringDecoder('utf8').write(body) : body.toString('utf8');
  const text = decoded.startsWith('\ufeff') ? decoded.slice(1) : decoded;
  return { status, headers, text, json: truncated ? undefined : jsonOf(text), truncated };
}

type RawHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** Joins in place: the object is not shared. */
export function joinRepeated(headers: RawHeaders): HttpResponse['headers'] {
  for (const name in headers) {
    const value = headers[name];
    if (Array.isArray(value)) headers[name] = value.join(', ');
  }
  return headers as Record<string, string>;
}

function jsonOf(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
