import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { messageOf, UserError } from '../../kernel/errors.js';

export const ENCODINGS = ['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const;
export type Encoding = (typeof ENCODINGS)[number];

const CHUNK_BYTES = 64 * 1024;
/** The bytes by which a format is recognised. */
const START_BYTES = 4 * 1024;

/** The bytes of a file or of standard input, as UTF-8 without byte order mark. */
export interface SourceBytes {
  readonly chunks: AsyncIterable<Buffer>;
  /** The first bytes, in UTF-8. */
  readonly start: Buffer;
  readonly hasMark: boolean;
  /** Undefined if it is not a file. */
  readonly totalBytes: number | undefined;
  bytesRead(): number;
  close(): void;
}

/** `stop` ends the reading: a pipe without data would keep the command waiting. */
export async function openSource(
  path: string,
  stdin: Readable | undefined,
  encoding?: Encoding,
  stop?: AbortSignal,
): Promise<SourceBytes> {
  const { stream, totalBytes } =
    path === '-' ? { stream: standardInput(stdin), totalBytes: undefined } : await openFile(path);
  stop?.addEventListener('abort', () => stream.destroy(), { once: true });
  // A signal that is aborted already dispatches no event.
  if (stop?.aborted) stream.destroy();
  let bytes = 0;
  const iterator = counted(stream, (length) => {
    bytes += length;
  });
  const start = await readStart(iterator);
  refuseOtherFormats(path, start);
  const mark = encoding === undefined ? markOf(start) : undefined;
  const decode = decoderOf(encoding ?? mark?.encoding ?? 'utf-8');
  const first = decode(start.subarray(mark?.length ?? 0), false);
  return {
    chunks: decodedChunks(first, iterator, decode),
    start: first.subarray(0, START_BYTES),
    hasMark: mark !== undefined,
    totalBytes,
    bytesRead: () => bytes,
    close: () => stream.destroy(),
  };
}

async function openFile(path: string): Promise<{ stream: Readable; totalBytes: number | undefined }> {
  const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw new UserError(`There is no file ${path}.`);
    throw new UserError(`${path} cannot be read: ${messageOf(error)}.`);
  });
  const stat = await file.stat();
  if (stat.isDirectory()) {
    await file.close();
    throw new UserError(`${path} is a directory. Give a file.`);
  }
  const stream = createReadStream('', { fd: file, highWaterMark: CHUNK_BYTES });
  return { stream, totalBytes: stat.isFile() ? stat.size : undefined };
}

function standardInput(stdin: Readable | undefined): Readable {
  if (!stdin) throw new UserError('There is no standard input to read from.');
  return stdin;
}

async function* counted(stream: Readable, onBytes: (length: number) => void): AsyncGenerator<Buffer> {
  for await (const chunk of stream) {
    const buffer = Buffer.from(chunk as Buffer | string);
    onBytes(buffer.length);
    yield buffer;
  }
}

async function readStart(iterator: AsyncGenerator<Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for (let length = 0; length < START_BYTES; ) {
    const { value, done } = await iterator.next();
    if (done) break;
    chunks.push(value);
    length += value.length;
  }
  return Buffer.concat(chunks);
}

function refuseOtherFormats(path: string, start: Buffer): void {
  const name = path === '-' ? 'The input' : path;
  if (start.length === 0) throw new UserError(`${name} is empty.`);
  if (start[0] === 0x1f && start[1] === 0x8b)
    throw new UserError(
      `${name} is compressed with gzip. Unpack it first: gunzip -c ${path === '-' ? '' : path} | … -`.replace(
        '  ',
        ' ',
      ),
    );
  if (start.subarray(0, 4).toString('latin1') === 'PK\u0003\u0004')
    throw new UserError(`${name} is a workbook or a ZIP archive. Save the sheet as "CSV UTF-8" and import that file.`);
}

function markOf(start: Buffer): { encoding: Encoding; length: number } | undefined {
  const hex = start.subarray(0, 3).toString('hex');
  if (hex === 'efbbbf') return { encoding: 'utf-8', length: 3 };
  if (hex.startsWith('fffe')) return { encoding: 'utf-16le', length: 2 };
  if (hex.startsWith('feff')) return { encoding: 'utf-16be', length: 2 };
  return undefined;
}

type Decode = (bytes: Buffer, isLast: boolean) => Buffer;

/** UTF-8 passes through: what is invalid in it is found where a line is read. */
function decoderOf(encoding: Encoding): Decode {
  if (encoding === 'utf-8') return (bytes) => bytes;
  const decoder = new TextDecoder(encoding);
  return (bytes, isLast) => Buffer.from(decoder.decode(bytes, { stream: !isLast }));
}

async function* decodedChunks(first: Buffer, rest: AsyncGenerator<Buffer>, decode: Decode): AsyncGenerator<Buffer> {
  yield first;
  for await (const chunk of rest) yield decode(chunk, false);
  yield decode(Buffer.alloc(0), true);
}
