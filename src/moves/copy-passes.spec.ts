import { afterPass, REST_MAX_EVENTS } from './copy-passes.js';

describe('afterPass', () => {
  it.each<[what: string, copied: number[], expected: string]>([
    ['little was left', [10_000_000, 50_000, REST_MAX_EVENTS], 'enough'],
    ['an empty site', [0], 'enough'],
    ['the first pass', [10_000_000], 'again'],
    ['less each time', [10_000_000, 5_000_000, 2_500_000, 1_250_000, 600_000], 'again'],
    ['one pass that was disturbed', [10_000_000, 50_000, 60_000], 'again'],
    ['as much as before', [10_000_000, 50_000, 50_000, 49_000, 50_000], 'stop'],
    ['more each time', [20_000, 30_000, 40_000, 50_000], 'stop'],
    ['hardly less', [20_000, 19_500, 19_000, 18_500], 'stop'],
  ])('decides whether another pass follows: %s', (_what, copied, expected) => {
    expect(afterPass(copied)).toBe(expected);
  });
});
