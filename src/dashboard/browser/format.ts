import { MANIFESTS } from '../../platforms/manifests.js';

const PLATFORM_TITLES: ReadonlyMap<string, string> = new Map(MANIFESTS.map(({ name, label }) => [name, label]));

export type Tone = 'ok' | 'wait' | 'warn' | 'bad' | 'plain';

/** `meta:second` is the second connection to a platform. */
export function connectionTitle(connection: string): string {
  const [platform = '', name] = connection.split(':');
  const title = PLATFORM_TITLES.get(platform) ?? platform;
  return name === undefined ? title : `${title} · ${name}`;
}

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  delivered: 'ok',
  confirmed: 'ok',
  accepted: 'ok',
  validated: 'ok',
  active: 'ok',
  queued: 'wait',
  deferred: 'wait',
  pending: 'wait',
  skipped: 'plain',
  paused: 'warn',
  parked: 'bad',
  failed: 'bad',
  rejected: 'bad',
};

export function statusTone(status: string): Tone {
  return STATUS_TONES[status] ?? 'plain';
}

/** Made when it is used first: making a formatter takes milliseconds, and the first page uses few of them. */
function once<Format>(make: () => Format): () => Format {
  let made: Format | undefined;
  return () => {
    made ??= make();
    return made;
  };
}

const dateFormat = (options: Intl.DateTimeFormatOptions) => once(() => new Intl.DateTimeFormat(undefined, options));
const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const numberOf = once(() => new Intl.NumberFormat());
const shareOf = once(() => new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 }));
const ageOf = once(() => new Intl.RelativeTimeFormat('en', { numeric: 'auto' }));
const timeOf = dateFormat({ day: '2-digit', month: 'short', ...CLOCK });
const clockOf = dateFormat(CLOCK);
const axisDayOf = dateFormat({ weekday: 'short', day: 'numeric', month: 'short' });
const axisHourOf = dateFormat({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayOf = dateFormat({ day: 'numeric', month: 'short', year: 'numeric' });
const timeOfOtherYear = dateFormat({ day: '2-digit', month: 'short', year: 'numeric', ...CLOCK });
const wholeOf = dateFormat({ day: 'numeric', month: 'long', year: 'numeric', timeZoneName: 'short', ...CLOCK });

/** In the viewer's locale. */
export function formatNumber(value: number): string {
  return numberOf().format(value);
}

/** A share between 0 and 1, with one decimal: 71.3 %. */
export function formatShare(share: number): string {
  return shareOf().format(share);
}

export function formatMoney(value: number, currency: string): string {
  return moneyText(value, currency, {});
}

/** Formats a sum: rounded to what matters at its size. */
export function formatMoneyShort(value: number, currency: string): string {
  if (Math.abs(value) < 1_000) return formatMoney(value, currency);
  const isLarge = Math.abs(value) >= 100_000;
  const short = isLarge ? { notation: 'compact' as const, maximumSignificantDigits: 3 } : { maximumFractionDigits: 0 };
  return moneyText(value, currency, short);
}

/** A formatter takes longer to make than hundreds of texts with it. */
const moneyFormats = new Map<string, Intl.NumberFormat>();

function moneyText(value: number, currency: string, options: Intl.NumberFormatOptions): string {
  const key = `${currency} ${JSON.stringify(options)}`;
  try {
    const format =
      moneyFormats.get(key) ?? new Intl.NumberFormat(undefined, { style: 'currency', currency, ...options });
    moneyFormats.set(key, format);
    return format.format(value);
  } catch {
    // Not a code that the browser knows.
    return `${formatNumber(value)} ${currency}`;
  }
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${formatNumber(Math.round(ms))} ms`;
  if (ms < 60_000) return `${trim(ms / 1_000)} s`;
  if (ms < 3_600_000) return `${trim(ms / 60_000)} min`;
  if (ms < 86_400_000) return `${trim(ms / 3_600_000)} h`;
  return `${trim(ms / 86_400_000)} d`;
}

function trim(value: number): string {
  return formatNumber(value < 10 ? Math.round(value * 10) / 10 : Math.round(value));
}

const UNITS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
];

/** By how much clocks may differ. */
const CLOCKS_DIFFER_MS = 5_000;

/** "3 hours ago"; "just now" within a minute. */
export function formatAge(time: string, nowMs: number): string {
  const differenceMs = Date.parse(time) - nowMs;
  const [unit, size] = UNITS.find(([, size]) => Math.abs(differenceMs) >= size) ?? [];
  if (unit === undefined || size === undefined)
    return differenceMs > CLOCKS_DIFFER_MS ? 'in less than a minute' : 'just now';
  return ageOf().format(Math.trunc(differenceMs / size), unit);
}

/** In the viewer's zone; with the year if it is another one. */
export function formatTime(time: string, now = new Date()): string {
  const date = new Date(time);
  return (date.getFullYear() === now.getFullYear() ? timeOf() : timeOfOtherYear()).format(date);
}

/** Without the date if it is today. */
export function formatClock(time: string, now = new Date()): string {
  const date = new Date(time);
  return date.toDateString() === now.toDateString() ? clockOf().format(date) : formatTime(time, now);
}

export function formatDay(time: string): string {
  return dayOf().format(new Date(time));
}

/** For the title of a time: with the viewer's zone, and in UTC as in the log. */
export function formatWhole(time: string): string {
  return `${wholeOf().format(new Date(time))}\n${formatUtc(time)}`;
}

/** UTC, as in the log. */
export function formatUtc(time: string): string {
  return `${new Date(time).toISOString().replace('T', ' ').replace('Z', '')} UTC`;
}

/** `one`, or the other form with the number before it. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${formatNumber(count)} ${count === 1 ? one : many}`;
}

/** At an axis: a day, or an hour. */
export function axisTime(timeMs: number, isDay: boolean): string {
  return (isDay ? axisDayOf() : axisHourOf()).format(timeMs);
}

/** The name of the viewer's zone. */
export function zoneName(): string {
  return clockOf().resolvedOptions().timeZone;
}
