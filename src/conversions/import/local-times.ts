import { readTimeMs } from '../inbound/fields/occurred-at.js';
import { type LocalMs, readTimeZone, type TimeZone } from './time-zone.js';

export type DateOrder = 'dmy' | 'mdy' | 'ymd';

export interface TimeFormat {
  /** Time zone of times without an offset. */
  readonly zone: TimeZone;
  /** Order of day, month and year where the text does not tell it. */
  readonly dateOrder?: DateOrder | undefined;
}

type Reading = { readonly ms: number; readonly isZoneless?: true } | { readonly error: string };

const INVALID = { error: 'occurredAt is not a time that is known here: use 2026-03-01T11:15:30+01:00' };
const AMBIGUOUS = { error: 'occurredAt is ambiguous: give --date-format dmy or --date-format mdy' };

/** Day 0 of the serial numbers of Excel, as of March 1900. */
const EXCEL_EPOCH_MS = Date.UTC(1899, 11, 30);
/** Serial numbers from 1970 to 2119: no other number of a time is as small. */
const EXCEL_SERIAL = /^(?:2556[9]|255[7-9]\d|25[6-9]\d\d|2[6-9]\d{3}|[3-7]\d{4})(?:[.,]\d+)?$/;
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

const TIME = /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,9}))?)?(?: ?([ap])\.?m\.?)?$/i;
const NUMERIC_DATE = /^(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})$/;
const DAY_MONTH_YEAR = /^(\d{1,2})\.?[ -]([a-z]{3,9})\.?,?[ -](\d{4})$/i;
const MONTH_DAY_YEAR = /^([a-z]{3,9})\.? (\d{1,2}),? (\d{4})$/i;
/** A date, and a time after it with or without an offset. */
const DATE_AND_TIME =
  /^(.*?)(?:(?:T|,? +)(\d{1,2}:\d{2}[\d:.,]*(?: ?[ap]\.?m\.?)?) ?(Z|UTC|GMT|[+-]\d{1,2}:?\d{2})?)?$/i;

/**
 * A time as exports write it: RFC 3339, Unix seconds or milliseconds, a serial number of Excel, or a date with or without a
 * time. A date that can be read in two ways is an error.
 */
export function readLocalTime(sent: string, format: TimeFormat): Reading {
  const text = sent.trim().replace(/\s+/g, ' ');
  const ms = readTimeMs(text);
  if (ms !== undefined) return { ms };
  if (/^\d{10}$/.test(text)) return { ms: Number(text) * 1_000 };
  if (/^\d{13}$/.test(text)) return { ms: Number(text) };
  if (EXCEL_SERIAL.test(text)) {
    const days = Number(text.replace(',', '.'));
    // A serial number has about ten decimals: the rest of a second is an error of rounding.
    return inZone(EXCEL_EPOCH_MS + Math.round(days * 86_400) * 1_000, format.zone);
  }
  const [, date = '', time, offset] = DATE_AND_TIME.exec(text) ?? [];
  const day = readDate(date, format.dateOrder);
  if ('error' in day) return day;
  const timeMs = time === undefined ? 0 : readTime(time);
  if (timeMs === undefined) return INVALID;
  const localMs = day.ms + timeMs;
  if (offset === undefined) return inZone(localMs, format.zone);
  const zone = readTimeZone(offset);
  return zone ? notBefore1970(zone(localMs)) : INVALID;
}

function inZone(localMs: LocalMs, zone: TimeZone): Reading {
  const reading = notBefore1970(zone(localMs));
  return 'error' in reading ? reading : { ...reading, isZoneless: true };
}

function notBefore1970(ms: number): Reading {
  return ms >= 0 ? { ms } : INVALID;
}

function readDate(text: string, order: DateOrder | undefined): Reading {
  const [, first = '', mark, second = '', third = ''] = NUMERIC_DATE.exec(text) ?? [];
  if (mark !== undefined) return readNumericDate(first, second, third, mark === '.' ? (order ?? 'dmy') : order);
  const [, day, month = '', year] = DAY_MONTH_YEAR.exec(text) ?? [];
  if (day !== undefined) return dateOf(year, monthOf(month), day);
  const [, monthBefore = '', dayAfter, yearAfter] = MONTH_DAY_YEAR.exec(text) ?? [];
  return dayAfter === undefined ? INVALID : dateOf(yearAfter, monthOf(monthBefore), dayAfter);
}

/** Dots separate the day from the month in every country that uses them. */
function readNumericDate(first: string, second: string, third: string, order: DateOrder | undefined): Reading {
  if (first.length === 4 && third.length <= 2) return dateOf(first, second, third);
  if (first.length > 2 || third.length === 1 || third.length === 3) return INVALID;
  if (third.length === 2) {
    // Any of three may be the year.
    if (order === undefined) return AMBIGUOUS;
    if (order === 'ymd') return dateOf(`20${first}`, second, third);
    return order === 'dmy' ? dateOf(`20${third}`, second, first) : dateOf(`20${third}`, first, second);
  }
  const [one, other] = [Number(first), Number(second)];
  const isKnown = order === 'dmy' || order === 'mdy';
  if (!isKnown && one <= 12 && other <= 12 && one !== other) return AMBIGUOUS;
  const isDayFirst = isKnown ? order === 'dmy' : one > 12;
  return isDayFirst ? dateOf(third, second, first) : dateOf(third, first, second);
}

function dateOf(year: string | undefined, month: string | number, day: string | undefined): Reading {
  const [y, m, d] = [Number(year), Number(month), Number(day)];
  const ms = Date.UTC(y, m - 1, d);
  const date = new Date(ms);
  // `Date.UTC` takes February 30 for March 2.
  return date.getUTCMonth() === m - 1 && date.getUTCDate() === d && y >= 1_970 ? { ms } : INVALID;
}

/** Number of the month with this English name or its first three letters; NaN for other words. */
function monthOf(name: string): number {
  const at = MONTHS.indexOf(name.slice(0, 3).toLowerCase());
  return at === -1 ? Number.NaN : at + 1;
}

/** Milliseconds since midnight. */
function readTime(text: string): number | undefined {
  const [, hourText, minute, second = '0', fraction = '0', half] = TIME.exec(text.trim()) ?? [];
  if (hourText === undefined) return undefined;
  let hour = Number(hourText);
  if (half !== undefined) {
    if (hour < 1 || hour > 12) return undefined;
    hour = (hour % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  }
  if (hour > 23 || Number(minute) > 59 || Number(second) > 59) return undefined;
  return (
    hour * 3_600_000 + Number(minute) * 60_000 + Number(second) * 1_000 + Math.floor(Number(`0.${fraction}`) * 1_000)
  );
}
