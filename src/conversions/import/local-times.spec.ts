import fc from 'fast-check';
import { type DateOrder, readLocalTime } from './local-times.js';
import { readTimeZone, type TimeZone } from './time-zone.js';

const UTC = readTimeZone('UTC') as TimeZone;
const BERLIN = readTimeZone('Europe/Berlin') as TimeZone;

function read(text: string, zone = UTC, dateOrder?: DateOrder): string {
  const reading = readLocalTime(text, { zone, dateOrder });
  return 'error' in reading ? reading.error : new Date(reading.ms).toISOString();
}

describe('a time of a file', () => {
  it.each([
    ['2026-03-01T11:15:30+01:00', '2026-03-01T10:15:30.000Z'],
    ['2026-03-01T11:15:30.250Z', '2026-03-01T11:15:30.250Z'],
    ['1772360130', '2026-03-01T10:15:30.000Z'],
    ['1772360130000', '2026-03-01T10:15:30.000Z'],
    ['46082', '2026-03-01T00:00:00.000Z'],
    ['46082.5', '2026-03-01T12:00:00.000Z'],
    ['46082,4274305556', '2026-03-01T10:15:30.000Z'],
    ['2026-03-01', '2026-03-01T00:00:00.000Z'],
    ['2026-03-01 11:15', '2026-03-01T11:15:00.000Z'],
    ['2026/3/1 11:15:30', '2026-03-01T11:15:30.000Z'],
    ['2026-03-01 11:15:30 UTC', '2026-03-01T11:15:30.000Z'],
    ['2026-03-01 11:15:30 +0200', '2026-03-01T09:15:30.000Z'],
    ['01.03.2026 11:15', '2026-03-01T11:15:00.000Z'],
    ['1.3.2026', '2026-03-01T00:00:00.000Z'],
    ['01.03.26', '2026-03-01T00:00:00.000Z'],
    ['31/01/2026', '2026-01-31T00:00:00.000Z'],
    ['01/31/2026 1:05 PM', '2026-01-31T13:05:00.000Z'],
    ['01/31/2026 12:05 AM', '2026-01-31T00:05:00.000Z'],
    ['05/05/2026', '2026-05-05T00:00:00.000Z'],
    ['31-01-2026', '2026-01-31T00:00:00.000Z'],
    ['1 Mar 2026 11:15', '2026-03-01T11:15:00.000Z'],
    ['Mar 1, 2026, 11:15:30 PM', '2026-03-01T23:15:30.000Z'],
    ['March 1, 2026', '2026-03-01T00:00:00.000Z'],
  ])('%j is %s', (text, time) => {
    expect(read(text)).toBe(time);
  });

  it.each(['01/02/2026', '2-1-2026 11:15', '01/02/26'])('%j is ambiguous', (text) => {
    expect(read(text)).toContain('--date-format');
  });

  it('is read in the stated order of day and month', () => {
    expect(read('01/02/2026', UTC, 'dmy')).toBe('2026-02-01T00:00:00.000Z');
    expect(read('01/02/2026', UTC, 'mdy')).toBe('2026-01-02T00:00:00.000Z');
    expect(read('01/02/26', UTC, 'dmy')).toBe('2026-02-01T00:00:00.000Z');
    expect(read('26/02/01', UTC, 'ymd')).toBe('2026-02-01T00:00:00.000Z');
    expect(read('31/01/2026', UTC, 'mdy')).toContain('occurredAt');
  });

  it.each([
    '',
    'yesterday',
    '2026-02-30',
    '2026-13-01',
    '2026-03-01 25:00',
    '2026-03-01 11:60',
    '1969-12-31',
    '0',
    '123456',
    '12',
    '1/2/3',
    '2026',
  ])('%j is not a time', (text) => {
    expect(read(text)).toContain('occurredAt');
  });

  it('without an offset belongs to the stated zone, in summer and in winter', () => {
    expect(read('2026-01-15 12:00', BERLIN)).toBe('2026-01-15T11:00:00.000Z');
    expect(read('2026-07-15 12:00', BERLIN)).toBe('2026-07-15T10:00:00.000Z');
    expect(read('46218.5', BERLIN)).toBe('2026-07-15T10:00:00.000Z');
    expect(read('2026-07-15T12:00:00Z', BERLIN)).toBe('2026-07-15T12:00:00.000Z');
  });

  it('that a change of the clocks repeats is the first one, and one that it leaves out is after it', () => {
    expect(read('2026-10-25 02:30', BERLIN)).toBe('2026-10-25T00:30:00.000Z');
    expect(read('2026-03-29 02:30', BERLIN)).toBe('2026-03-29T01:30:00.000Z');
  });

  it('tells whether it had an offset', () => {
    expect(readLocalTime('2026-03-01', { zone: UTC })).toMatchObject({ isZoneless: true });
    expect(readLocalTime('2026-03-01T00:00:00Z', { zone: UTC })).not.toHaveProperty('isZoneless');
  });

  it('is the same in every notation of one moment', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000_000_000 }), (seconds) => {
        const iso = new Date(seconds * 1_000).toISOString();
        const [year, month, day, time] = [iso.slice(0, 4), iso.slice(5, 7), iso.slice(8, 10), iso.slice(11, 19)];
        for (const text of [
          `${year}-${month}-${day} ${time}`,
          `${day}.${month}.${year} ${time}`,
          `${iso.slice(0, 19)}Z`,
        ])
          expect(read(text)).toBe(iso);
        expect(read(`${month}/${day}/${year} ${time}`, UTC, 'mdy')).toBe(iso);
        if (seconds > 1e9) expect(read(String(seconds))).toBe(iso);
      }),
      { seed: 16 },
    );
  });
});

describe('a time zone', () => {
  it.each(['UTC', 'Z', '+01:00', '-0530', 'UTC+2', 'Europe/Berlin', 'America/New_York'])('%j is known', (text) => {
    expect(readTimeZone(text)).toBeDefined();
  });

  it.each(['', 'Berlin time', '+25:00', 'Europe/Nowhere'])('%j is unknown', (text) => {
    expect(readTimeZone(text)).toBeUndefined();
  });
});
