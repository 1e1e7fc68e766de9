import { effectiveTimeMs } from './clock-steps.js';

describe('the effective time of an event', () => {
  const steps = [
    { position: 10, beforeMs: 5_000, afterMs: 1_000 },
    { position: 20, beforeMs: 9_000, afterMs: 2_000 },
  ];

  it('is its own time where the clock was right', () => {
    expect(effectiveTimeMs([], 5, 700)).toBe(700);
    expect(effectiveTimeMs(steps, 5, 700)).toBe(700);
    expect(effectiveTimeMs(steps, 25, 2_500)).toBe(2_500);
  });

  it('is the time at which the clock was set back where it was ahead', () => {
    expect(effectiveTimeMs(steps, 9, 5_000)).toBe(1_000);
    expect(effectiveTimeMs(steps, 19, 9_000)).toBe(2_000);
  });

  it('never decreases along the log', () => {
    const times = [900, 5_000, 1_000, 1_500, 9_000, 2_000, 2_001];
    const positions = [8, 9, 10, 11, 19, 20, 21];
    const effective = positions.map((position, index) => effectiveTimeMs(steps, position, times[index] as number));
    expect(effective).toEqual([...effective].sort((a, b) => a - b));
  });
});
