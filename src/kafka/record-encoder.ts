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

/** What kafkajs takes for one of its own encoders. */
interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
}

/**
 * kafkajs makes a buffer for every header of every record, and one for every length in them: half of what publishing an
 * event costs, since ours have ten headers. From here on it has records encoded by `encodeRecord`, byte for byte the same.
 * It loads its own encoder when it first sends, so this works at any time before.
 */
export function replaceRecordEncoder(): void {
  const kafkajs = require(RECORD) as (record: KafkaRecord) => Encoded;
  const loaded = require.cache[require.resolve(RECORD)];
  if (!loaded) return;
  // Times of their own, which would be a long number: nobody here sends them.
  loaded.exports = (record: KafkaRecord) => (record.timestampDelta ? kafkajs(record) : encodeRecord(record));
}

let scratch = Buffer.allocUnsafeSlow(16 * 1024);
let end = 0;

export function encodeRecord({ offsetDelta = 0, key, value, headers = {} }: KafkaRecord): Encoded {
  const named = Object.entries(headers).flatMap(([name, values]) =>
    Array.isArray(values) ? values.map((one) => [name, one] as const) : [[name, values] as const],
  );
  end = 0;
  makeRoom(32);
  // Attributes, and the difference of times: none.
  scratch[end++] = 0;
  scratch[end++] = 0;
  writeVarInt(offsetDelta);
  writeText(key);
  writeText(value);
  writeVarInt(named.length);
  for (const [name, text] of named) {
    writeText(name);
    writeText(text);
  }
  const bodyEnd = end;
  writeVarInt(bodyEnd);
  const buffer = Buffer.allocUnsafe(end);
  // The length comes first, and is known last.
  scratch.copy(buffer, 0, bodyEnd, end);
  scratch.copy(buffer, end - bodyEnd, 0, bodyEnd);
  return { buf: buffer, buffer };
}

function writeText(text: Text | null | undefined): void {
  if (text === null || text === undefined) {
    writeVarInt(-1);
  } else if (typeof text === 'string') {
    const bytes = Buffer.byteLength(text);
    makeRoom(bytes);
    writeVarInt(bytes);
    end += scratch.write(text, end);
  } else {
    makeRoom(text.length);
    writeVarInt(text.length);
    end += text.copy(scratch, end);
  }
}

/** Zigzag, seven bits a byte, the lowest first. */
function writeVarInt(value: number): void {
  let left = ((value << 1) ^ (value >> 31)) >>> 0;
  while (left > 0x7f) {
    scratch[end++] = (left & 0x7f) | 0x80;
    left >>>= 7;
  }
  scratch[end++] = left;
}

/** For so many bytes and the numbers around them. */
function makeRoom(bytes: number): void {
  if (end + bytes + 16 <= scratch.length) return;
  const larger = Buffer.allocUnsafeSlow(2 * (end + bytes + 16));
  scratch.copy(larger, 0, 0, end);
  scratch = larger;
}
