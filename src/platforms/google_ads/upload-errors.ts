import { at, listAt, shorten, textAt } from '../common-verdict.js';
import { rowOf, verdictOfRow } from '../error-table.js';
import type { Verdict } from '../platform.js';
import { refusedFields } from '../refused-fields.js';
import { UPLOAD_ERRORS } from './errors.js';
import { identifiersOfCode } from './identifier-at.js';

/** The verdict on the conversion, or on the request, that an error of the Google Ads API refers to. */
export function verdictOfUploadError(error: unknown): Verdict {
  const [category, code] = codeOf(error);
  if (code === undefined) return { kind: 'rejected', reason: shorten(textAt(error, 'message') ?? 'unknown error') };
  const row = rowOf(UPLOAD_ERRORS, code, category);
  if (row) return verdictOfRow(row, code, { afterMs: retryDelayMs(error) });
  const fields = listAt(error, 'location', 'fieldPathElements').map((element) => textAt(element, 'fieldName') ?? '');
  return refusedFields(identifiersOfCode(code, fields.join('.')), code);
}

/** Splits `{"conversionUploadError":"CLICK_NOT_FOUND"}` into category and code. */
function codeOf(error: unknown): readonly [category: string | undefined, code: string | undefined] {
  const errorCode = at(error, 'errorCode');
  if (typeof errorCode !== 'object' || errorCode === null) return [undefined, undefined];
  const [category, code] = Object.entries(errorCode)[0] ?? [];
  return [category, typeof code === 'string' ? shorten(code) : undefined];
}

/** Parses a protobuf duration such as `30s` or `1.5s`. */
function retryDelayMs(error: unknown): number | undefined {
  const seconds = Number.parseFloat(textAt(error, 'details', 'quotaErrorDetails', 'retryDelay') ?? '');
  return seconds > 0 ? Math.ceil(seconds * 1_000) : undefined;
}
