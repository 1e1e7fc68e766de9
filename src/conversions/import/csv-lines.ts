import { type CsvError, parse } from 'csv-parse';
import { UserError } from '../../kernel/errors.js';
import { unescapeFormula } from '../../kernel/formulas.js';
import { type Column, REASON_COLUMN, readColumns } from './columns.js';
import { readDefaults, readRow } from './csv-row.js';
import { type Delimiter, detectDelimiter, formatRecord, statedDelimiter } from './delimiter.js';
import { LINE_MAX_BYTES, type LineSource, type ReadOptions, type SourceLine } from './import-options.js';
import type { SourceBytes } from './source-bytes.js';

const BYTE_ORDER_MARK = '\ufeff';

interface CsvRecord {
  readonly cells: readonly string[];
  /** Number of its last line in the file. */
  readonly lastLine: number;
}

/** Reads the header at once, so that a missing column is an error before anything is stored. */
export async function openCsv(source: SourceBytes, options: ReadOptions): Promise<LineSource> {
  readDefaults(options);
  const [firstLine = ''] = source.start.toString().split(/\r\n|\n|\r/, 1);
  const stated = statedDelimiter(firstLine);
  const delimiter = stated ?? detectDelimiter(firstRecord(source.start.toString()));
  const chunks = readRecords(source, delimiter);
  const first = await readFirst(chunks, stated ? 2 : 1);
  if (stated) first.shift();
  const written = first.shift();
  if (!written) throw new UserError('The file has no header.');
  const reasonAt = written.cells.indexOf(REASON_COLUMN);
  // A file of rejected lines was written with cells that no spreadsheet runs.
  const cellsOf = (record: readonly string[]) => (reasonAt === -1 ? record : record.map(unescapeFormula));
  const header = cellsOf(written.cells);
  const columns = readColumns(
    header.map((name) => name.trim()),
    options.map,
    options.defaults,
    options.withoutEmail,
  );
  const format = (cells: readonly string[], reason: string) => {
    // A file of rejected lines that is imported again has the column already.
    const others = reasonAt === -1 ? cells : cells.filter((_, index) => index !== reasonAt);
    return `${formatRecord([reason, ...others], delimiter)}\n`;
  };
  const mark = source.hasMark ? BYTE_ORDER_MARK : '';
  return {
    rejectedHeader: mark + format(header, REASON_COLUMN),
    chunks: readChunks(first, chunks, (records) =>
      readLines(
        records.map(({ cells, lastLine }) => ({ cells: cellsOf(cells), lastLine })),
        header.length,
        columns,
        options,
        format,
      ),
    ),
  };
}

/** At least so many records, if the file has them. */
async function readFirst(chunks: AsyncIterator<CsvRecord[]>, count: number): Promise<CsvRecord[]> {
  let records: CsvRecord[] = [];
  while (records.length < count) {
    const { value, done } = await chunks.next();
    if (done) break;
    records = records.concat(value);
  }
  return records;
}

async function* readChunks(
  first: CsvRecord[],
  rest: AsyncIterable<CsvRecord[]>,
  read: (records: readonly CsvRecord[]) => Iterable<SourceLine>,
): AsyncGenerator<Iterable<SourceLine>> {
  yield read(first);
  for await (const records of rest) yield read(records);
}

function* readLines(
  records: readonly CsvRecord[],
  width: number,
  columns: readonly Column[],
  options: ReadOptions,
  format: (cells: readonly string[], reason: string) => string,
): Generator<SourceLine> {
  for (const { cells, lastLine } of records) {
    // Spreadsheets write rows of delimiters where something was deleted.
    if (cells.every((cell) => cell.trim() === '')) continue;
    const extra = cells.length > width && cells.slice(width).some((cell) => cell.trim() !== '');
    const reading = extra
      ? { error: `the line has ${cells.length} fields, and the header ${width}: quote fields with delimiters` }
      : readRow(cells, columns, options);
    const rejected = (reason: string) => ({
      number: lastLine - countOf(/\r\n|\n|\r/g, cells),
      reason,
      text: format(cells, reason),
    });
    yield { reading, rawBody: '', rejected };
  }
}

function countOf(pattern: RegExp, cells: readonly string[]): number {
  return cells.reduce((sum, cell) => sum + (cell.match(pattern)?.length ?? 0), 0);
}

/**
 * Collects the records of each chunk by itself: the parser's stream drops what precedes an error in the same chunk. It also
 * bounds their bytes by itself, because the parser does not count delimiters.
 */
async function* readRecords(source: SourceBytes, delimiter: Delimiter): AsyncGenerator<CsvRecord[]> {
  let records: CsvRecord[] = [];
  let failure: Error | undefined;
  const read = { records: 0, lines: 0, bytes: 0, blankLines: 0 };
  let counted = 0;
  const parser = parse({
    delimiter,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    relax_quotes: true,
    skip_empty_lines: true,
    on_record: (record: string[], { bytes, lines }) => {
      // The parser counts CRLF within quotes as two lines. Most records have one line and need no search for it.
      if (lines - counted > 1) counted += countOf(/\r\n/g, record);
      read.records += 1;
      read.lines += lines - counted;
      counted = lines;
      read.bytes = bytes;
      records.push({ cells: record, lastLine: read.lines });
      return null;
    },
  });
  const fail = (error?: Error | null) => {
    failure ??= error ?? undefined;
  };
  parser.on('error', fail);
  parser.resume();
  const take = () => {
    const taken = records;
    records = [];
    return taken;
  };
  let bytes = 0;
  for await (const chunk of source.chunks) {
    await new Promise<void>((resolve) => parser.write(chunk, (error) => resolve(fail(error))));
    yield take();
    // Blank lines are no part of a record.
    if (parser.info.empty_lines > read.blankLines) read.bytes = Math.max(read.bytes, bytes);
    read.blankLines = parser.info.empty_lines;
    bytes += chunk.length;
    if (bytes - read.bytes > LINE_MAX_BYTES) fail(new RecordTooLong());
    if (failure !== undefined) throw describeFailure(failure, read);
  }
  await new Promise<void>((resolve) => parser.end((error?: Error) => resolve(fail(error))));
  yield take();
  if (failure !== undefined) throw describeFailure(failure, read);
}

class RecordTooLong extends Error {}

/** The parser's own messages quote the file, which holds personal data. `read`: what precedes the record that failed. */
function describeFailure(error: Error, read: { readonly records: number; readonly lines: number }): Error {
  const { code } = error as CsvError;
  const where = `Record ${read.records + 1} of the file (about line ${read.lines + 1})`;
  if (error instanceof RecordTooLong)
    return new UserError(
      `${where} is longer than ${LINE_MAX_BYTES / 1024} KiB: probably a quote is not closed. ${AGAIN}`,
    );
  if (code === 'CSV_QUOTE_NOT_CLOSED') return new UserError(`${where} has a quote that is not closed. ${AGAIN}`);
  if (typeof code === 'string' && code.startsWith('CSV_'))
    return new UserError(`${where} is not valid CSV (${code}). ${AGAIN}`);
  return error;
}

const AGAIN = 'Correct the file and run the same command again: what was imported before it is skipped.';

/** The header may contain line breaks within quotes. */
function firstRecord(start: string): string {
  let isQuoted = false;
  for (let at = 0; at < start.length; at++) {
    if (start[at] === '"') isQuoted = !isQuoted;
    else if (!isQuoted && (start[at] === '\n' || start[at] === '\r')) {
      if (start.slice(0, at).trim() !== '') return start.slice(0, at);
    }
  }
  return start;
}
