import { effectiveTimeMs, latestTimeMs } from './clock-steps.js';

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

describe('the latest time at which an event can have been stored', () => {
  const NOW = 6_000;

  it('is its own time, also if the clock was behind afterwards', () => {
    const behind = [{ position: 10, beforeMs: 5_000, afterMs: 100 }];
    expect(latestTimeMs(behind, 9, 5_000, NOW)).toBe(5_000);
    expect(latestTimeMs(behind, 20, 5_500, NOW)).toBe(5_500);
  });

  it('is that of the event before the step while the clock was behind', () => {
    const behind = [{ position: 10, beforeMs: 5_000, afterMs: 100 }];
    expect(latestTimeMs(behind, 10, 100, NOW)).toBe(5_000);
    expect(latestTimeMs(behind, 19, 900, NOW)).toBe(5_000);
  });

  it('is the time at which the clock was set back where it had been ahead of now', () => {
    const ahead = [
      { position: 10, beforeMs: 9_000, afterMs: 8_000 },
      { position: 20, beforeMs: 8_500, afterMs: 2_000 },
    ];
    expect(latestTimeMs(ahead, 9, 9_000, NOW)).toBe(2_000);
    expect(latestTimeMs(ahead, 19, 8_500, NOW)).toBe(2_000);
    expect(latestTimeMs(ahead, 20, 2_000, NOW)).toBe(2_000);
  });

  it('never decreases along the log', () => {
    const steps = [
      { position: 10, beforeMs: 5_000, afterMs: 100 },
      { position: 20, beforeMs: 9_000, afterMs: 5_200 },
    ];
    const events = [
      [8, 4_000],
      [9, 5_000],
      [10, 100],
      [11, 5_100],
      [19, 9_000],
      [20, 5_200],
      [21, 5_300],
    ] as const;
    const latest = events.map(([position, timeMs]) => latestTimeMs(steps, position, timeMs, NOW));
    expect(latest).toEqual([4_000, 5_000, 5_000, 5_100, 5_200, 5_200, 5_300]);
  });
});
