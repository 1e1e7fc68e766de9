import * as fc from 'fast-check';
import { readTimeMs } from './occurred-at.js';

describe('readTimeMs', () => {
  it.each([
    ['2026-03-01T10:15:30Z', '2026-03-01T10:15:30.000Z'],
    ['2026-03-01t10:15:30z', '2026-03-01T10:15:30.000Z'],
    ['2026-03-01 10:15:30+00:00', '2026-03-01T10:15:30.000Z'],
    ['2026-03-01T11:15:30.5+01:00', '2026-03-01T10:15:30.500Z'],
    ['2026-03-01T04:45:30.123456-05:30', '2026-03-01T10:15:30.123Z'],
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    [' 2026-03-01T10:15:30Z\n', '2026-03-01T10:15:30.000Z'],
    [1_772_360_130, '2026-03-01T10:15:30.000Z'],
    [1_772_360_130.123, '2026-03-01T10:15:30.123Z'],
    [0, '1970-01-01T00:00:00.000Z'],
  ])('reads %j as %s', (sent, iso) => {
    expect(new Date(readTimeMs(sent) ?? Number.NaN).toISOString()).toBe(iso);
  });

  it.each([
    '2026-03-01',
    '2026-03-01T10:15:30',
    '2026-03-01T10:15Z',
    '2026-02-29T00:00:00Z',
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-03-01T24:00:00Z',
    '2026-03-01T10:15:30+0100',
    '2026-03-01T10:15:30+24:00',
    '1969-12-31T23:59:59Z',
    '01.03.2026 10:15:30',
    'Sun, 01 Mar 2026 10:15:30 GMT',
    '1772360130',
    '',
    -1,
    1e300,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    null,
    true,
    {},
    [1_772_360_130],
  ])('rejects %j', (sent) => {
    expect(readTimeMs(sent)).toBeUndefined();
  });

  it('reads every moment since 1970 in any offset', () => {
    const moment = fc.integer({ min: 86_400_000, max: Date.parse('9999-12-30T00:00:00Z') });
    const offset = fc.integer({ min: -1_439, max: 1_439 });
    return fc.assert(
      fc.property(moment, offset, (ms, minutes) => {
        const two = (number: number) => String(number).padStart(2, '0');
        const local = new Date(ms + minutes * 60_000).toISOString().slice(0, -1);
        const size = Math.abs(minutes);
        const text = `${local}${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}:${two(size % 60)}`;
        expect(readTimeMs(text)).toBe(ms);
        expect(readTimeMs(Math.floor(ms / 1_000))).toBe(Math.floor(ms / 1_000) * 1_000);
      }),
      { seed: 20_261_116 },
    );
  });
});
