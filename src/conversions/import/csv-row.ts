import { MalformedBody, parseStrictJson } from '../../http/strict-json.js';
import { UserError } from '../../kernel/errors.js';
import { readAmount } from './amounts.js';
import type { Column } from './columns.js';
import type { LineReading, ReadOptions } from './import-options.js';
import { readLocalTime } from './local-times.js';

type Body = Record<string, unknown>;

/** `4,50123E+12`: a spreadsheet has dropped the last digits, so that different orders would become one. */
const SHORTENED_NUMBER = /^\d([.,]\d+)?E\+?\d+$/i;

/** The body that the endpoint would get for a row. An empty cell is an absent field. */
export function readRow(cells: readonly string[], columns: readonly Column[], options: ReadOptions): LineReading {
  const body: Body = {};
  let isZoneless: true | undefined;
  const dropped: { field: string; problem: string }[] = [];
  for (const { field, index } of columns) {
    const text = cells[index]?.trim() || options.defaults.get(field);
    if (text === undefined || text === '') continue;
    if (text.includes('\0')) return { error: `${field} contains a NUL character` };
    if (text.includes('\ufffd')) return { error: `${field} is not valid UTF-8: give --encoding windows-1252` };
    if (field === 'value') {
      const amount = readAmount(text, options.decimalMark);
      if (typeof amount !== 'number') return amount;
      body['value'] = amount;
    } else if (field === 'occurredAt') {
      const time = readLocalTime(text, options.times);
      if ('error' in time) return time;
      isZoneless = time.isZoneless;
      body['occurredAt'] = new Date(time.ms).toISOString();
    } else if (field === 'items') {
      const items = readJson(text);
      if (items === undefined) dropped.push({ field, problem: 'items must be a list in JSON' });
      else body['items'] = items;
    } else if ((field === 'orderId' || field === 'externalId') && SHORTENED_NUMBER.test(text)) {
      const problem = `${field} was shortened by a spreadsheet: export it as text`;
      if (field === 'orderId') return { error: problem };
      dropped.push({ field, problem });
    } else setField(body, field, cellValue(field, text));
  }
  // Without it the amount would become dollars although the file has a column for the currency.
  if (
    body['value'] !== undefined &&
    body['currency'] === undefined &&
    columns.some(({ field }) => field === 'currency')
  )
    return { error: 'currency must be an ISO 4217 code' };
  return { body, isZoneless, ...(dropped.length > 0 && { dropped }) };
}

/** `clickIds.gclid` is a part of `clickIds`. */
export function setField(body: Body, field: string, value: unknown): void {
  const dot = field.indexOf('.');
  if (dot === -1) {
    body[field] = value;
    return;
  }
  const [name, part] = [field.slice(0, dot), field.slice(dot + 1)];
  body[name] = { ...(body[name] as object), [part]: value };
}

/** A text that has no type, as the value of a field. A custom value can be a number, but one with leading zeros is an id. */
export function cellValue(field: string, text: string): string | number | boolean {
  if (!field.startsWith('custom.')) return text;
  if (/^-?(0|[1-9]\d{0,14})(\.\d{1,15})?$/.test(text)) return Number(text);
  return text === 'true' || text === 'false' ? text === 'true' : text;
}

function readJson(text: string): unknown {
  try {
    return parseStrictJson(Buffer.from(`{"items":${text}}`))['items'];
  } catch (error) {
    if (error instanceof MalformedBody) return undefined;
    throw error;
  }
}

/** The defaults as fields of a body. Throws if one of them is invalid, because it would reject every line. */
export function readDefaults(options: ReadOptions): Readonly<Body> {
  const columns = [...options.defaults.keys()].map((field) => ({ field, index: -1 }));
  const reading = readRow([], columns, options);
  if ('error' in reading) throw new UserError(`--default: ${reading.error}.`);
  const [first] = reading.dropped ?? [];
  if (first) throw new UserError(`--default: ${first.problem}.`);
  return reading.body;
}
