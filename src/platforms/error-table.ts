import { shorten } from './common-verdict.js';
import type { Verdict } from './platform.js';

/** The codes that a platform treats alike, and what they mean for a conversion. */
export interface ErrorRow {
  /** Numbers, names, `<beginning of names>*`, ranges with both ends, or `<code>/<subcode>`. */
  readonly codes: readonly (number | string | readonly [first: number, last: number])[];
  readonly verdict:
    | 'delivered'
    | 'rejected'
    | 'split'
    | 'throttled'
    | 'server_error'
    | 'unauthorized'
    | 'misconfigured';
  /** The wait before a retry, if the platform does not ask for another one. */
  readonly afterMs?: number;
  /** False: a retried conversion was certainly not accepted. */
  readonly unknown?: false;
  /** What a person can do about a code that parks the connection. */
  readonly fix?: string;
}

/** The row of the first of these codes that has one. */
export function rowOf(
  table: readonly ErrorRow[],
  ...codes: readonly (number | string | undefined)[]
): ErrorRow | undefined {
  for (const code of codes) {
    const row = code === undefined ? undefined : table.find(({ codes }) => codes.some((entry) => covers(entry, code)));
    if (row) return row;
  }
  return undefined;
}

export function verdictOfRow(
  { verdict, afterMs, unknown }: ErrorRow,
  reason: string,
  more: { readonly afterMs?: number | undefined; readonly requestId?: string | undefined } = {},
): Verdict {
  const { requestId } = more;
  switch (verdict) {
    case 'delivered':
      return { kind: verdict, requestId };
    case 'throttled':
    case 'server_error':
      return { kind: 'retry', reason: verdict, afterMs: more.afterMs ?? afterMs, unknown, requestId };
    default:
      return { kind: verdict, reason: shorten(reason), requestId };
  }
}

/** What a person can do about a reason that begins with a code of the table. */
export function fixOf(table: readonly ErrorRow[], reason: string): string | undefined {
  return rowOfReason(table, reason)?.fix;
}

/** Whether a reason begins with a code that new credentials do not help against. */
export function isMisconfiguration(table: readonly ErrorRow[], reason: string): boolean {
  return rowOfReason(table, reason)?.verdict === 'misconfigured';
}

function rowOfReason(table: readonly ErrorRow[], reason: string): ErrorRow | undefined {
  const [code, main] = /^(\w+)(?:\/\w+)?/.exec(reason) ?? [];
  return rowOf(table, code, main);
}

function covers(entry: ErrorRow['codes'][number], code: number | string): boolean {
  if (typeof entry === 'string' && entry.endsWith('*')) return String(code).startsWith(entry.slice(0, -1));
  if (typeof entry !== 'object') return String(entry) === String(code);
  return Number(code) >= entry[0] && Number(code) <= entry[1];
}
