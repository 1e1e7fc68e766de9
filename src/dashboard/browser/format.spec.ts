import {
  connectionTitle,
  counted,
  formatAge,
  formatClock,
  formatDuration,
  formatMoney,
  formatTime,
  formatUtc,
  formatWhole,
  statusTone,
} from './format.js';

describe('formats of the dashboard', () => {
  it('names a connection by its platform and its own name', () => {
    expect(connectionTitle('google_ads')).toBe('Google Ads');
    expect(connectionTitle('meta:second')).toBe('Meta · second');
    expect(connectionTitle('unheard_of')).toBe('unheard_of');
  });

  it('shows a status that it does not know without a colour', () => {
    expect(statusTone('delivered')).toBe('ok');
    expect(statusTone('parked')).toBe('bad');
    expect(statusTone('constructor_of_next_year')).toBe('plain');
  });

  it.each([
    [0, '0 ms'],
    [999, '999 ms'],
    [1_500, '1.5 s'],
    [90_000, '1.5 min'],
    [3 * 3_600_000, '3 h'],
    [40 * 86_400_000, '40 d'],
  ])('shows %i milliseconds as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('shows the age of a time, and no seconds, by which clocks differ', () => {
    const now = Date.parse('2026-11-16T12:00:00.000Z');
    expect(formatAge('2026-11-16T11:59:20.000Z', now)).toBe('just now');
    expect(formatAge('2026-11-16T12:00:03.000Z', now)).toBe('just now');
    expect(formatAge('2026-11-16T12:00:30.000Z', now)).toBe('in less than a minute');
    expect(formatAge('2026-11-16T11:57:00.000Z', now)).toBe('3 minutes ago');
    expect(formatAge('2026-11-15T11:00:00.000Z', now)).toBe('yesterday');
    expect(formatAge('2026-11-16T15:00:00.000Z', now)).toBe('in 3 hours');
  });

  it('shows a time in UTC as the log does', () => {
    expect(formatUtc('2026-11-16T12:00:00.120Z')).toBe('2026-11-16 12:00:00.120 UTC');
  });

  it('names the year of a time in another year, and always where the zone is named', () => {
    const [time, later] = ['2026-06-15T12:00:00.000Z', new Date('2027-06-15T12:00:00.000Z')];
    expect([formatTime(time, new Date(time)), formatTime(time, later)].map((text) => text.includes('2026'))).toEqual([
      false,
      true,
    ]);
    expect([new Date(time), later].map((now) => /2026|15/.test(formatClock(time, now)))).toEqual([false, true]);
    expect(formatWhole(time)).toMatch(/2026.*\n2026-06-15 12:00:00\.000 UTC$/);
  });

  it('shows an amount in a currency that the browser does not know', () => {
    expect(formatMoney(12, 'not a code')).toBe('12 not a code');
  });

  it('counts in the singular and the plural', () => {
    expect([counted(1, 'key'), counted(2, 'key'), counted(0, 'query', 'queries')]).toEqual([
      '1 key',
      '2 keys',
      '0 queries',
    ]);
  });
});
