import { StringDecoder } from 'node:string_decoder';
import type { Dispatcher } from 'undici';

/** Of the body, decoded. */
export const TEXT_MAX_BYTES = 64 * 1024;

export interface HttpResponse {
  readonly status: number;
  /** Lower-case names; a header that came more than once has its values joined with commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** At most the first 64 KiB, decoded. */
  readonly text: string;
  /** The text as JSON; undefined when it is none, or was cut off. */
  readonly json: unknown;
  /** Whether the body was longer than the text, or in an encoding that cannot be read. */
  readonly truncated: boolean;
}

export function responseOf(
  status: number,
  headers: HttpResponse['headers'],
  body: Buffer,
  truncated: boolean,
): HttpResponse {
  // The decoder keeps half a character at the end to itself.
  const decoded = truncated ? new StringDecoder('utf8').write(body) : body.toString('utf8');
  const text = decoded.startsWith('\ufeff') ? decoded.slice(1) : decoded;
  return { status, headers, text, json: truncated ? undefined : jsonOf(text), truncated };
}

type RawHeaders = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>[2];

/** Joins in place: nobody else has the object. */
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
