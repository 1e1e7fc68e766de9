import { keyExpiry } from './key-rotation.js';

const clock = { nowMs: () => Date.parse('2026-03-01T10:00:00.000Z') };

describe('keyExpiry', () => {
  it.each([
    ['24h', '2026-03-02T10:00:00.000Z'],
    ['0s', '2026-03-01T10:00:00.000Z'],
    ['90d', '2026-05-30T10:00:00.000Z'],
  ])('after an overlap of %s is %s', (overlap, expected) => {
    expect(keyExpiry(clock, overlap)).toBe(expected);
  });

  it.each(['91d', '1 day', '-1h', '', '99999999999d'])('refuses %j', (overlap) => {
    expect(() => keyExpiry(clock, overlap)).toThrow('--overlap');
  });
});
