import { MalformedBody, parseStrictJson } from '../../http/strict-json.js';
import { isImportField, REASON_COLUMN } from './columns.js';
import { readDefaults, setField } from './csv-row.js';
import { LINE_MAX_BYTES, type LineSource, type ReadOptions, type SourceLine } from './import-options.js';
import type { SourceBytes } from './source-bytes.js';

type Body = Readonly<Record<string, unknown>>;

const LINE_FEED = 0x0a;
/** Holds a line that is no JSON object in the file of rejected lines. */
const TEXT_FIELD = 'rejected_line';

export function openNdjson(source: SourceBytes, options: ReadOptions): LineSource {
  return { rejectedHeader: '', chunks: readChunks(source.chunks, options.map, readDefaults(options)) };
}

async function* readChunks(
  chunks: AsyncIterable<Buffer>,
  map: ReadonlyMap<string, string>,
  defaults: Body,
): AsyncGenerator<SourceLine[]> {
  let parts: Buffer[] = [];
  let length = 0;
  let number = 0;
  for await (const chunk of chunks) {
    const lines: SourceLine[] = [];
    let from = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, from)) {
      number += 1;
      const line = toLine(number, parts, length, chunk.subarray(from, end), map, defaults);
      [parts, length, from] = [[], 0, end + 1];
      if (line) lines.push(line);
    }
    yield lines;
    const rest = chunk.subarray(from);
    length += rest.length;
    // The length is still counted, so that the line is rejected and does not fill the memory.
    if (length <= LINE_MAX_BYTES) parts.push(rest);
    else parts = [];
  }
  const line = toLine(number + 1, parts, length, Buffer.alloc(0), map, defaults);
  if (line) yield [line];
}

/** Undefined for a blank line. */
function toLine(
  number: number,
  parts: readonly Buffer[],
  length: number,
  rest: Buffer,
  map: ReadonlyMap<string, string>,
  defaults: Body,
): SourceLine | undefined {
  if (length + rest.length > LINE_MAX_BYTES) {
    const error = `line ${number} of the file is longer than ${LINE_MAX_BYTES / 1024} KiB`;
    return {
      reading: { error },
      rawBody: '',
      rejected: (reason) => ({ number, reason, text: `${JSON.stringify({ [REASON_COLUMN]: reason })}\n` }),
    };
  }
  const bytes = parts.length === 0 ? rest : Buffer.concat([...parts, rest]);
  const text = bytes.toString().trim();
  if (text === '') return undefined;
  // A copy: the line is part of a chunk that would otherwise stay in memory.
  const rawBody = Buffer.from(bytes);
  try {
    const object = parseStrictJson(rawBody);
    const body = withDefaults(renamed(object, map), defaults);
    const rejected = (reason: string) => ({ number, reason, text: withReason(reason, object, text) });
    return { reading: { body }, rawBody, rejected };
  } catch (error) {
    if (!(error instanceof MalformedBody)) throw error;
    return {
      reading: { error: error.message.replace(/^The body/, 'the line') },
      rawBody,
      rejected: (reason) => ({
        number,
        reason,
        text: `${JSON.stringify({ [REASON_COLUMN]: reason, [TEXT_FIELD]: text })}\n`,
      }),
    };
  }
}

/** Without what is no field, as far as it is known what it is: it is no misspelling of one. */
function renamed(object: Body, map: ReadonlyMap<string, string>): Body {
  if (map.size === 0 && !(REASON_COLUMN in object)) return object;
  const { [REASON_COLUMN]: _, ...body }: Record<string, unknown> = object;
  for (const theirs of map.values()) if (!isImportField(theirs)) delete body[theirs];
  for (const [field, theirs] of map) {
    const value = theirs === '' ? undefined : object[theirs];
    setField(body, field, value ?? null);
  }
  return body;
}

function withDefaults(body: Body, defaults: Body): Body {
  const missing = Object.entries(defaults).filter(([field]) => body[field] === undefined || body[field] === null);
  return missing.length === 0 ? body : { ...body, ...Object.fromEntries(missing) };
}

/** The text as it was, because parsing rounds large numbers; a reason that it has already is replaced. */
function withReason(reason: string, object: Body, text: string): string {
  const { [REASON_COLUMN]: earlier, ...others } = object;
  if (earlier !== undefined || Object.keys(others).length === 0)
    return `${JSON.stringify({ [REASON_COLUMN]: reason, ...others })}\n`;
  return `{${JSON.stringify(REASON_COLUMN)}:${JSON.stringify(reason)},${text.slice(text.indexOf('{') + 1)}\n`;
}
