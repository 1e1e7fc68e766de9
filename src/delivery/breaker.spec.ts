import { Breaker } from './breaker.js';

describe('Breaker', () => {
  let breaker: Breaker;

  beforeEach(() => {
    breaker = new Breaker(1_000);
  });

  const fail = (times: number, now: number) => {
    for (let call = 0; call < times; call += 1) breaker.failed(now);
  };

  it('opens after five failures in a row', () => {
    fail(4, 0);
    breaker.answered();
    fail(4, 0);
    expect(breaker.refusal(0)).toBeUndefined();
    expect(breaker.callsMax(8)).toBe(8);
    fail(1, 0);
    expect(breaker.refusal(999)).toBe('circuit_open');
    expect(breaker.refusal(1_000)).toBeUndefined();
  });

  it('lets one call decide: closed for twice as long each time, up to eight times', () => {
    fail(5, 0);
    let now = 0;
    for (const wait of [1_000, 2_000, 4_000, 8_000, 8_000]) {
      expect(breaker.refusal(now + wait - 1)).toBe('circuit_open');
      now += wait;
      expect(breaker.refusal(now)).toBeUndefined();
      expect(breaker.callsMax(8)).toBe(1);
      breaker.failed(now);
    }
  });

  it('is free again with the first answer', () => {
    fail(5, 0);
    breaker.answered();
    expect(breaker.refusal(1)).toBeUndefined();
    expect(breaker.callsMax(8)).toBe(8);
    fail(5, 1);
    expect(breaker.refusal(1_000)).toBe('circuit_open');
    expect(breaker.refusal(1_001)).toBeUndefined();
  });

  it('does not count what was under way when it opened', () => {
    fail(12, 0);
    expect(breaker.refusal(1_000)).toBeUndefined();
  });

  it('holds back as long as the longest wish of the platform, whatever is answered meanwhile', () => {
    breaker.hold(0, 5_000);
    breaker.hold(0, 2_000);
    breaker.answered();
    expect(breaker.refusal(4_999)).toBe('throttled');
    expect(breaker.refusal(5_000)).toBeUndefined();
  });
});
