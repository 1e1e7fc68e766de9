import { escapeFormula } from '../../kernel/formulas.js';
import type { Schemas } from './api.js';
import { counted } from './format.js';

type SyncLine = Schemas['SyncLine'];

/** More is for an export on the page History. */
const EXPORT_MAX = 10_000;
const PAGE = 500;
/** A page of a filter that little matches may be empty although there are more, so not the requests are bounded. */
const EXPORT_MINUTES = 2;

const COLUMNS = [
  ['time', ({ time }) => time],
  ['kind', ({ kind }) => kind],
  ['order', ({ orderId }) => orderId],
  ['event', ({ event }) => event],
  ['connection', ({ platform }) => platform],
  ['outcome', ({ status }) => status],
  ['reason', reasonOf],
  ['http_status', ({ httpStatus }) => httpStatus],
  ['attempt', ({ attempt }) => attempt],
  ['duration_ms', ({ durationMs }) => durationMs],
  ['next_attempt', ({ nextTry }) => nextTry],
  ['window_start', ({ window }) => textOf(window?.['windowStart'])],
  ['window_end', ({ window }) => textOf(window?.['windowEnd'])],
  ['conversions', ({ payload }) => payload?.conversions],
  ['bot_traffic_removed', ({ payload }) => payload?.bot_traffic_removed],
  ['requests', ({ count }) => count],
  ['conversion', ({ conversionId }) => conversionId],
  ['position', ({ position }) => position],
] as const satisfies readonly (readonly [string, (line: SyncLine) => string | number | undefined])[];

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function reasonOf({ reason, reasons }: SyncLine): string | undefined {
  return reason ?? (reasons && Object.keys(reasons).join('; '));
}

/** Without it, spreadsheets read the file in the encoding of their system. */
const BYTE_ORDER_MARK = '\uFEFF';

export function syncLogCsv(lines: readonly SyncLine[]): string {
  return (
    BYTE_ORDER_MARK +
    toCsv([COLUMNS.map(([name]) => name), ...lines.map((line) => COLUMNS.map(([, value]) => value(line)))])
  );
}

interface LinePage {
  readonly items: readonly SyncLine[];
  readonly next?: number | undefined;
}

interface ExportedLines {
  readonly lines: readonly SyncLine[];
  /** `full`, `timed out`: there may be more than are exported. */
  readonly end: 'complete' | 'full' | 'timed out';
}

/** All matching lines up to the limits, page by page. */
export async function readLines(
  load: (cursor: number | undefined, limit: number) => Promise<LinePage>,
  max = EXPORT_MAX,
  timeout = AbortSignal.timeout(EXPORT_MINUTES * 60_000),
): Promise<ExportedLines> {
  const lines: SyncLine[] = [];
  let cursor: number | undefined;
  do {
    const page = await load(cursor, Math.min(PAGE, max - lines.length));
    lines.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined && lines.length < max && !timeout.aborted);
  return { lines, end: cursor === undefined ? 'complete' : lines.length < max ? 'timed out' : 'full' };
}

/** What an export has, and how to get the rest. */
export function exportedText({ lines, end }: ExportedLines): string {
  const exported = counted(lines.length, 'line is', 'lines are');
  if (end === 'complete') return `${exported} exported`;
  const why = end === 'full' ? '' : `The search stopped after ${EXPORT_MINUTES} minutes. `;
  return `${why}The newest ${exported} exported. Choose a shorter time for the others.`;
}

/** Rows as CSV (RFC 4180). */
export function toCsv(rows: readonly (readonly (string | number | undefined)[])[]): string {
  return rows.map((row) => `${row.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value: string | number | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return String(value);
  const text = escapeFormula(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Offers a text as a download. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  // The browser reads it after the click.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
