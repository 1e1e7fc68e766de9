import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const RECORD = 'kafkajs/src/protocol/recordBatch/record/v0/index.js';

type Text = string | Buffer;

export interface KafkaRecord {
  readonly offsetDelta?: number;
  readonly timestampDelta?: number;
  readonly key?: Text | null;
  readonly value: Text | null;
  readonly headers?: Readonly<Record<string, Text | Text[]>>;
}

/** The properties that kafkajs reads from its own encoders. */
interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
}

/**
 * kafkajs allocates a buffer for every header of every record and for every length prefix. With ten headers per event that
 * is half the CPU cost of publishing. This makes kafkajs use `encodeRecord`, whose output is byte-identical. kafkajs loads
 * its encoder at the first send, so this must run before.
 */
export function replaceRecordEncoder(): void {
  const kafkajs = require(RECORD) as (record: KafkaRecord) => Encoded;
  const loaded = require.cache[require.resolve(RECORD)];
  if (!loaded) return;
  // Records with their own timestamps need 64-bit deltas, which `encodeRecord` does not write. The service sends none.
  loaded.exports = (record: KafkaRecord) => (record.timestampDelta ? kafkajs(record) : encodeRecord(record));
}

let scratch = Buffer.allocUnsafeSlow(16 * 1024);
let end = 0;

export function encodeRecord({ offsetDelta = 0, key, value, headers = {} }: KafkaRecord): Encoded {
  const names = Object.keys(headers);
  let headerCount = 0;
  for (const name of names) headerCount += countOf(headers[name] as Text | Text[]);
  end = 0;
  ensureCapacity(32);
  // Attributes and timestamp delta are zero.
  scratch[end++] = 0;
  scratch[end++] = 0;
  writeVarInt(offsetDelta);
  writeText(key);
  writeText(value);
  writeVarInt(headerCount);
  for (const name of names) {
    const value = headers[name] as Text | Text[];
    if (Array.isArray(value)) for (const text of value) writeHeader(name, text);
    else writeHeader(name, value);
  }
  const bodyEnd = end;
  writeVarInt(bodyEnd);
  const buffer = Buffer.allocUnsafe(end);
  // The length prefix comes first but is known last.
  scratch.copy(buffer, 0, bodyEnd, end);
  scratch.copy(buffer, end - bodyEnd, 0, bodyEnd);
  return { buf: buffer, buffer };
}

function countOf(value: Text | Text[]): number {
  return Array.isArray(value) ? value.length : 1;
}

function writeHeader(name: string, text: Text): void {
  writeText(name);
  writeText(text);
}

function writeText(text: Text | null | undefined): void {
  if (text === null || text === undefined) {
    writeVarInt(-1);
  } else if (typeof text === 'string') {
    if (writeShortAscii(text)) return;
    const bytes = Buffer.byteLength(text);
    ensureCapacity(bytes);
    writeVarInt(bytes);
    end += scratch.write(text, end);
  } else {
    ensureCapacity(text.length);
    writeVarInt(text.length);
    end += text.copy(scratch, end);
  }
}

/** The length of shorter texts takes one byte. */
const SHORT_LENGTH = 64;

/** Calling into Node's native code costs more than copying a short text. False, with nothing written, for other texts. */
function writeShortAscii(text: string): boolean {
  const { length } = text;
  if (length >= SHORT_LENGTH) return false;
  ensureCapacity(length);
  let at = end + 1;
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code > 0x7f) return false;
    scratch[at++] = code;
  }
  scratch[end] = length << 1;
  end = at;
  return true;
}

/** Zigzag encoding, seven bits per byte, least significant first. */
function writeVarInt(value: number): void {
  let remaining = ((value << 1) ^ (value >> 31)) >>> 0;
  while (remaining > 0x7f) {
    scratch[end++] = (remaining & 0x7f) | 0x80;
    remaining >>>= 7;
  }
  scratch[end++] = remaining;
}

/** Reserves space for the bytes and the integers around them. */
function ensureCapacity(bytes: number): void {
  if (end + bytes + 16 <= scratch.length) return;
  const larger = Buffer.allocUnsafeSlow(2 * (end + bytes + 16));
  scratch.copy(larger, 0, 0, end);
  scratch = larger;
}
