import * as fc from 'fast-check';
import { formatDuration, parseDurationMs } from './durations.js';

describe('durations', () => {
  it.each([
    ['500ms', 500],
    ['2s', 2_000],
    ['15m', 900_000],
    ['24h', 86_400_000],
    ['30d', 2_592_000_000],
    ['0s', 0],
    ['0', 0],
    [' 5s ', 5_000],
  ])('parses %s as %d ms', (text, ms) => {
    expect(parseDurationMs(text)).toBe(ms);
  });

  it.each([
    '',
    '5',
    's',
    '1.5h',
    '-1s',
    '+1s',
    '1 s',
    '1S',
    '1w',
    '1h30m',
    '1e3s',
    '9007199254740992ms',
    '9'.repeat(400),
  ])('rejects "%s" and explains the format', (text) => {
    expect(() => parseDurationMs(text)).toThrow(
      `"${text}" is not a duration: write a whole number and a unit, like 500ms, 2s, 15m, 24h or 30d.`,
    );
  });

  it.each([
    [0, '0s'],
    [1, '1ms'],
    [1_500, '1500ms'],
    [60_000, '1m'],
    [90_000, '90s'],
    [86_400_000, '24h'],
    [172_800_000, '2d'],
    [2_592_000_000, '30d'],
  ])('formats %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('parses every duration that it formats', () =>
    fc.assert(
      fc.property(
        fc.oneof(
          fc.maxSafeNat(),
          fc.nat(100).map((hours) => hours * 3_600_000),
        ),
        (ms) => {
          expect(parseDurationMs(formatDuration(ms))).toBe(ms);
        },
      ),
    ));
});
