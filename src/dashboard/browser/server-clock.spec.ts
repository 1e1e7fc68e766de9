import { ServerClock } from './server-clock.js';

const NOW = Date.parse('2026-11-16T12:00:00Z');
const DATE = new Date(NOW).toUTCString();

describe('the clock of the service', () => {
  it('is told by its answers if that of the browser is wrong', () => {
    const clock = new ServerClock();
    clock.observe(DATE, NOW - 7_200_000);
    expect(clock.nowMs(NOW - 7_200_000 + 5)).toBe(NOW + 5);
    clock.observe(null, NOW);
    clock.observe('nonsense', NOW);
    expect(clock.nowMs(NOW - 7_200_000)).toBe(NOW);
    clock.observe(DATE, NOW);
    expect(clock.nowMs(NOW)).toBe(NOW);
  });

  it('is that of the browser if they differ by no more than an answer takes', () => {
    const clock = new ServerClock();
    clock.observe(DATE, NOW + 20_000);
    expect(clock.nowMs(NOW)).toBe(NOW);
  });

  it('is not before what an answer has told of, for the end of a selection', () => {
    const clock = new ServerClock();
    clock.observe(DATE, NOW + 20_000);
    expect(clock.exactMs(NOW + 20_000)).toBe(NOW + 999);
  });
});
