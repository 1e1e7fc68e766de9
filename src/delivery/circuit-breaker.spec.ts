import { CircuitBreaker } from './circuit-breaker.js';

describe('CircuitBreaker', () => {
  let breaker: CircuitBreaker;

  beforeEach(() => {
    breaker = new CircuitBreaker(1_000);
  });

  const fail = (times: number, now: number) => {
    for (let request = 0; request < times; request += 1) breaker.failed(now);
  };

  it('opens after five consecutive failures', () => {
    fail(4, 0);
    breaker.succeeded();
    fail(4, 0);
    expect(breaker.refusal(0)).toBeUndefined();
    expect(breaker.concurrency(8)).toBe(8);
    fail(1, 0);
    expect(breaker.refusal(999)).toBe('circuit_open');
    expect(breaker.refusal(1_000)).toBeUndefined();
  });

  it('admits one request after each open period and doubles the period up to eight times', () => {
    fail(5, 0);
    let now = 0;
    for (const wait of [1_000, 2_000, 4_000, 8_000, 8_000]) {
      expect(breaker.refusal(now + wait - 1)).toBe('circuit_open');
      now += wait;
      expect(breaker.refusal(now)).toBeUndefined();
      expect(breaker.concurrency(8)).toBe(1);
      breaker.failed(now);
    }
  });

  it('closes with the first success', () => {
    fail(5, 0);
    breaker.succeeded();
    expect(breaker.refusal(1)).toBeUndefined();
    expect(breaker.concurrency(8)).toBe(8);
    fail(5, 1);
    expect(breaker.refusal(1_000)).toBe('circuit_open');
    expect(breaker.refusal(1_001)).toBeUndefined();
  });

  it('ignores failures of requests that were in flight when it opened', () => {
    fail(12, 0);
    expect(breaker.refusal(1_000)).toBeUndefined();
  });

  it('throttles for the longest wait the platform requested, even if requests succeed meanwhile', () => {
    breaker.throttle(0, 5_000);
    breaker.throttle(0, 2_000);
    breaker.succeeded();
    expect(breaker.refusal(4_999)).toBe('throttled');
    expect(breaker.refusal(5_000)).toBeUndefined();
  });
});
