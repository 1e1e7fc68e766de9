/** A local time without a zone, in milliseconds as if it were UTC. */
export type LocalMs = number;

/** What UTC is at a local time. */
export type TimeZone = (localMs: LocalMs) => number;

const HOUR_MS = 3_600_000;
const OFFSET = /^(?:UTC|GMT)?([+-])(\d{1,2})(?::?(\d{2}))?$/i;
/** Offsets change at full or half hours at most, and rows of a file are close to each other. */
const REMEMBERED_MAX = 10_000;

/** `UTC`, an offset such as `+02:00`, or an IANA name such as `Europe/Berlin`; undefined if it is none of them. */
export function readTimeZone(text: string): TimeZone | undefined {
  if (/^(?:Z|UTC|GMT)$/i.test(text)) return (localMs) => localMs;
  const [, sign, hours, minutes = '0'] = OFFSET.exec(text) ?? [];
  if (sign !== undefined) {
    const offsetMs = (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
    return Math.abs(offsetMs) <= 14 * HOUR_MS ? (localMs) => localMs - offsetMs : undefined;
  }
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: text, timeZoneName: 'longOffset' });
  } catch {
    return undefined;
  }
  return namedZone(format);
}

/** A local time that a change of clocks repeats is the first one; one that is left out moves to after the change. */
function namedZone(format: Intl.DateTimeFormat): TimeZone {
  const offsets = new Map<number, number>();
  const offsetAt = (utcMs: number): number => {
    const hour = Math.floor(utcMs / (HOUR_MS / 2));
    const known = offsets.get(hour);
    if (known !== undefined) return known;
    const name = format.formatToParts(utcMs).find(({ type }) => type === 'timeZoneName')?.value ?? '';
    const [, sign, hours, minutes = '0'] = /([+-])(\d{2}):?(\d{2})?/.exec(name) ?? [];
    const offsetMs = sign === undefined ? 0 : (Number(hours) * 60 + Number(minutes)) * 60_000 * (sign === '-' ? -1 : 1);
    if (offsets.size >= REMEMBERED_MAX) offsets.clear();
    offsets.set(hour, offsetMs);
    return offsetMs;
  };
  return (localMs) => {
    // The offset of half a day before is that of before a change, if there is one.
    const before = offsetAt(localMs - 12 * HOUR_MS);
    if (offsetAt(localMs - before) === before) return localMs - before;
    const after = offsetAt(localMs + 12 * HOUR_MS);
    return offsetAt(localMs - after) === after ? localMs - after : localMs - before;
  };
}
