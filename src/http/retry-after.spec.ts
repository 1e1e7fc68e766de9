import { retryAfterMs } from './retry-after.js';

const NOW_MS = Date.parse('2026-03-01T10:15:30Z');
const DAY_MS = 24 * 60 * 60 * 1_000;

describe('retryAfterMs', () => {
  it.each([
    ['30', 30_000],
    ['Sun, 01 Mar 2026 10:16:30 GMT', 60_000],
    ['0', undefined],
    ['Sun, 01 Mar 2026 10:15:30 GMT', undefined],
    ['Sun, 01 Mar 1026 10:15:30 GMT', undefined],
    ['soon', undefined],
    ['', undefined],
    ['-5', undefined],
    ['99999999', DAY_MS],
    ['9'.repeat(400), DAY_MS],
    ['Sun, 01 Mar 3026 10:15:30 GMT', DAY_MS],
  ])('reads "%s" as %p', (text, ms) => {
    expect(retryAfterMs({ headers: { 'retry-after': text } }, NOW_MS)).toBe(ms);
  });

  it('compares a date with the clock of the server that sent it', () => {
    const headers = { 'retry-after': 'Sun, 01 Mar 2026 12:01:00 GMT', date: 'Sun, 01 Mar 2026 12:00:00 GMT' };
    expect(retryAfterMs({ headers }, NOW_MS)).toBe(60_000);
  });

  it('returns undefined without the header', () => {
    expect(retryAfterMs({ headers: {} }, NOW_MS)).toBeUndefined();
  });
});
