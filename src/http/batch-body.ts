import { MalformedBody } from './strict-json.js';

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

export type BatchFormat = 'array' | 'lines';

const EMPTY = 'The body is empty: send a JSON array.';
const INCOMPLETE = 'The body is not valid JSON: send one complete JSON array.';

/** The bytes of each element or line. Throws `MalformedBody` at the end of an array that is not complete. */
export function splitBatch(body: Buffer, format: BatchFormat): Generator<Buffer> {
  const text = body.subarray(hasByteOrderMark(body) ? 3 : 0);
  return format === 'array' ? splitArray(text) : splitLines(text);
}

/**
 * Blank lines are skipped: many tools end the last line, or the file, with one. Byte by byte, because a search for the end of each
 * line would take a second for a body of blank lines. A CR before the newline is JSON whitespace.
 */
function* splitLines(body: Buffer): Generator<Buffer> {
  let start = 0;
  for (let at = 0; at < body.length; at++) {
    const byte = body[at];
    if (byte === NEWLINE) start = at + 1;
    if (isSpace(byte)) continue;
    const newline = body.indexOf(NEWLINE, at);
    at = newline === -1 ? body.length : newline;
    yield body.subarray(start, at);
    start = at + 1;
  }
}

/**
 * Finds the elements without parsing them, so that each is checked alone. Whether an element is valid JSON is left to its
 * parser: wherever brackets do not match, an element is not valid.
 */
function* splitArray(body: Buffer): Generator<Buffer> {
  const end = body.length;
  let at = 0;
  while (at < end && isSpace(body[at])) at++;
  if (at === end) throw new MalformedBody('empty', EMPTY);
  if (body[at] !== OPEN_BRACKET) throw new MalformedBody('not_an_array');
  let start = at + 1;
  let count = 0;
  let depth = 0;
  for (; at < end; at++) {
    const byte = body[at];
    if (byte === QUOTE) {
      for (at++; at < end && body[at] !== QUOTE; at++) if (body[at] === BACKSLASH) at++;
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth++;
    } else if (byte === COMMA && depth === 1) {
      yield body.subarray(start, at);
      start = at + 1;
      count++;
    } else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) {
      break;
    }
  }
  if (body[at] !== CLOSE_BRACKET || !isBlank(body, at + 1, end)) throw new MalformedBody('syntax', INCOMPLETE);
  if (count > 0 || !isBlank(body, start, at)) yield body.subarray(start, at);
}

function hasByteOrderMark(body: Buffer): boolean {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
}

function isBlank(body: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (!isSpace(body[at])) return false;
  return true;
}

/** Whitespace of JSON. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
