import { bucketBorders, isTimeZone, toQuarters } from './buckets.js';

const period = (from: string, to: string) => ({ fromMs: Date.parse(from), toMs: Date.parse(to) });
const isoBorders = (...call: Parameters<typeof bucketBorders>) =>
  bucketBorders(...call).map((ms) => new Date(ms).toISOString().replace(':00.000Z', 'Z'));
const hours = (borders: number[]) => borders.slice(1).map((at, index) => (at - (borders[index] as number)) / 3_600_000);

describe('toQuarters', () => {
  it('widens a period to whole quarters of an hour', () => {
    const widened = toQuarters(period('2026-03-01T10:07:30Z', '2026-03-01T10:45:00.001Z'));
    expect(widened).toEqual(period('2026-03-01T10:00:00Z', '2026-03-01T11:00:00Z'));
  });
});

describe('bucketBorders', () => {
  it('begins days at midnight of the time zone', () => {
    const days = period('2026-07-01T12:00:00Z', '2026-07-02T12:00:00Z');
    expect(isoBorders(days, 'day', 'Asia/Kathmandu')).toEqual([
      '2026-06-30T18:15Z',
      '2026-07-01T18:15Z',
      '2026-07-02T18:15Z',
    ]);
    expect(isoBorders(days, 'day', 'UTC')).toEqual(['2026-07-01T00:00Z', '2026-07-02T00:00Z', '2026-07-03T00:00Z']);
  });

  it('has days of 23 and 25 hours where the clock changes', () => {
    const spring = period('2026-03-28T00:00:00Z', '2026-03-30T12:00:00Z');
    expect(hours(bucketBorders(spring, 'day', 'Europe/Berlin'))).toEqual([24, 23, 24]);
    const autumn = period('2026-10-24T00:00:00Z', '2026-10-26T12:00:00Z');
    expect(hours(bucketBorders(autumn, 'day', 'Europe/Berlin'))).toEqual([24, 25, 24]);
  });

  it('begins a day without midnight when the clock was changed', () => {
    const days = period('2026-04-23T12:00:00Z', '2026-04-24T12:00:00Z');
    expect(isoBorders(days, 'day', 'Africa/Cairo')).toEqual([
      '2026-04-22T22:00Z',
      '2026-04-23T22:00Z',
      '2026-04-24T21:00Z',
    ]);
  });

  it('begins a day with two midnights at the first', () => {
    const days = period('2026-10-24T12:00:00Z', '2026-10-25T12:00:00Z');
    expect(hours(bucketBorders(days, 'day', 'Atlantic/Azores'))).toEqual([24, 25]);
  });

  it('leaves out a day that a time zone did not have', () => {
    const days = period('2011-12-29T20:00:00Z', '2011-12-31T05:00:00Z');
    expect(isoBorders(days, 'day', 'Pacific/Apia')).toEqual([
      '2011-12-29T10:00Z',
      '2011-12-30T10:00Z',
      '2011-12-31T10:00Z',
    ]);
  });

  it('has one bucket for each of two hours with the same name', () => {
    const night = period('2026-10-25T00:00:00Z', '2026-10-25T03:00:00Z');
    expect(hours(bucketBorders(night, 'hour', 'Europe/Berlin'))).toEqual([1, 1, 1]);
  });

  it('begins hours with the minute 0 of the time zone', () => {
    const one = period('2026-07-01T12:00:00Z', '2026-07-01T13:00:00Z');
    expect(isoBorders(one, 'hour', 'Asia/Kolkata')).toEqual([
      '2026-07-01T11:30Z',
      '2026-07-01T12:30Z',
      '2026-07-01T13:30Z',
    ]);
  });

  it.each([
    ...['UTC', 'Europe/Berlin', 'America/St_Johns', 'America/Santiago', 'Asia/Beirut'],
    ...['Australia/Lord_Howe', 'Pacific/Chatham', 'Antarctica/Troll'],
  ])('covers every moment of a year once, in the time zone %s', (timeZone) => {
    const year = period('2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z');
    const borders = bucketBorders(year, 'day', timeZone);
    expect(Math.min(...borders)).toBeLessThanOrEqual(year.fromMs);
    expect(borders.at(-1)).toBeGreaterThanOrEqual(year.toMs);
    for (const length of hours(borders)) expect([22, 23, 23.5, 24, 24.5, 25, 26]).toContain(length);
  });

  it('refuses a period with too many buckets', () => {
    const years = period('2020-01-01T00:00:00Z', '2026-01-01T00:00:00Z');
    expect(() => bucketBorders(years, 'day', 'UTC')).toThrow(/more than 750 days/);
    expect(() => bucketBorders({ fromMs: 0, toMs: 1e300 }, 'hour', 'UTC')).toThrow(/more than 750 hours/);
  });
});

describe('isTimeZone', () => {
  it('knows names of the IANA database', () => {
    expect(isTimeZone('Europe/Berlin')).toBe(true);
    expect(isTimeZone('Europe/Nowhere')).toBe(false);
    expect(isTimeZone('')).toBe(false);
  });
});
