import { UserError } from '../kernel/errors.js';

const MINUTE_MS = 60_000;
const QUARTER_MS = 15 * MINUTE_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Buckets in one answer: a month by the hour, or two years by the day. */
export const BUCKETS_MAX = 750;

export const INTERVALS = ['hour', 'day'] as const;
export type Interval = (typeof INTERVALS)[number];

/** `to` is exclusive. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Widened to whole quarters of an hour, which is what is stored. */
export function toQuarters({ fromMs, toMs }: Period): Period {
  return { fromMs: Math.floor(fromMs / QUARTER_MS) * QUARTER_MS, toMs: Math.ceil(toMs / QUARTER_MS) * QUARTER_MS };
}

/**
 * The borders of the whole hours or days of a time zone that cover a period: one more than there are buckets. A day begins with
 * the first moment of its date, so that it has 23 or 25 hours where the clock changes.
 */
export function bucketBorders(period: Period, interval: Interval, timeZone: string): number[] {
  const zone = new ZoneClock(timeZone);
  const { fromMs, toMs } = toQuarters(period);
  if ((toMs - fromMs) / (interval === 'hour' ? HOUR_MS : DAY_MS) > BUCKETS_MAX + 1) throw tooMany(interval);
  const borders = interval === 'hour' ? hourBorders(zone, fromMs, toMs) : dayBorders(zone, fromMs, toMs);
  if (borders.length - 1 > BUCKETS_MAX) throw tooMany(interval);
  return borders;
}

/** The same, without what is before and after the period, so that the buckets add up to its total. */
export function bordersWithin(period: Period, interval: Interval, timeZone: string): number[] {
  const { fromMs, toMs } = toQuarters(period);
  const inner = bucketBorders(period, interval, timeZone).filter((ms) => ms > fromMs && ms < toMs);
  return [fromMs, ...inner, toMs];
}

function tooMany(interval: Interval): UserError {
  return new UserError(
    `The period has more than ${BUCKETS_MAX} ${interval}s. Choose a shorter one, or longer intervals.`,
  );
}

/** In steps of elapsed time: an hour that the clock repeats is two. */
function hourBorders(zone: ZoneClock, fromMs: number, toMs: number): number[] {
  const borders = [fromMs - (zone.localMs(fromMs) % HOUR_MS)];
  for (let at = borders[0] as number; at < toMs; borders.push(at)) at += HOUR_MS;
  return borders;
}

function dayBorders(zone: ZoneClock, fromMs: number, toMs: number): number[] {
  const borders: number[] = [];
  let dayMs = Math.floor(zone.localMs(fromMs) / DAY_MS) * DAY_MS;
  for (;;) {
    const at = zone.startOfDay(dayMs);
    // A time zone that moves across the date line leaves out a day.
    if (at !== borders.at(-1)) borders.push(at);
    if (at >= toMs && borders.length > 1) return borders;
    dayMs += DAY_MS;
  }
}

/** The clock of a time zone. Local times are numbers as if they were UTC. */
class ZoneClock {
  private readonly format: Intl.DateTimeFormat;

  constructor(timeZone: string) {
    this.format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' });
  }

  localMs(ms: number): number {
    return ms + this.offsetMs(ms);
  }

  /** The first moment of the local date that begins at `dayMs` local time. */
  startOfDay(dayMs: number): number {
    const [before, after] = [dayMs - this.offsetMs(dayMs - DAY_MS), dayMs - this.offsetMs(dayMs + DAY_MS)];
    const midnights = [before, after].filter((ms) => this.localMs(ms) === dayMs);
    if (midnights.length > 0) return Math.min(...midnights);
    // The clock skips midnight: the day begins when it does.
    let at = Math.max(before, after);
    while (this.localMs(at - QUARTER_MS) >= dayMs) at -= QUARTER_MS;
    return at;
  }

  private offsetMs(ms: number): number {
    // "GMT", "GMT+05:45" or, long ago, "GMT-00:44:30".
    const text = this.format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours = 0, minutes = 0, seconds = 0] = /([+-])(\d+):(\d+)(?::(\d+))?/.exec(text) ?? [];
    const offset = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000;
    return sign === '-' ? -offset : offset;
  }
}

/** Whether it is the name of a time zone, such as Europe/Berlin. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
