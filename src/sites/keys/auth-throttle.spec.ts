import { type AuthEvent } from '../../events/auth.events.js';
import type { StoredEvent } from '../../log/event.js';
import { AuthThrottle } from './auth-throttle.js';

const MINUTE_MS = 60_000;
const WINDOW_MS = 15 * MINUTE_MS;

describe('AuthThrottle', () => {
  let recorded: { site: string; event: AuthEvent }[];
  let throttle: AuthThrottle;

  beforeEach(() => {
    recorded = [];
    throttle = new AuthThrottle({
      limit: 20,
      windowMs: WINDOW_MS,
      instance: 'me',
      record: (site, event) => recorded.push({ site, event }),
    });
  });

  const fail = (times: number, atMs: number, site = 'shop.example') =>
    Array.from({ length: times }, () => throttle.fail(site, 'unknown', atMs));
  const apply = (type: AuthEvent['type'], data: object, timeMs: number) =>
    throttle.apply({
      type,
      data,
      site: 'shop.example',
      time: new Date(timeMs).toISOString(),
    } as unknown as StoredEvent);

  it('throttles after 20 failed attempts', () => {
    expect(fail(20, 0)).toEqual(Array(20).fill(undefined));
    expect(throttle.fail('shop.example', 'missing', 1)).toBe(900);
  });

  it('does not count failures outside the sliding window', () => {
    fail(19, 0);
    fail(1, 5 * MINUTE_MS);
    expect(throttle.fail('shop.example', 'unknown', WINDOW_MS + 1)).toBeUndefined();
  });

  it('returns the seconds until the throttle ends', () => {
    fail(10, 0);
    fail(10, 10 * MINUTE_MS);
    // The throttled attempt is itself counted and pushes the oldest failure out of the list.
    expect(throttle.fail('shop.example', 'unknown', 12 * MINUTE_MS)).toBe(3 * 60);
  });

  it('counts each site separately', () => {
    fail(25, 0, 'a.example');
    expect(throttle.fail('b.example', 'unknown', 0)).toBeUndefined();
  });

  it('stores each failure up to the limit and one sum for the rest', () => {
    fail(5_020, 0);
    throttle.flush(MINUTE_MS);
    throttle.flush(2 * MINUTE_MS);
    expect(recorded.filter(({ event }) => event.type === 'auth.failed.v1')).toHaveLength(20);
    const throttled = recorded.flatMap(({ event }) => (event.type === 'auth.throttled.v1' ? [event.data.count] : []));
    expect(throttled).toEqual([1, 4_999]);
  });

  it('counts failures stored by other instances and ignores its own events', () => {
    for (let count = 0; count < 15; count += 1) apply('auth.failed.v1', { reason: 'unknown', instance: 'other' }, 0);
    for (let count = 0; count < 15; count += 1) apply('auth.failed.v1', { reason: 'unknown', instance: 'me' }, 0);
    expect(fail(5, 1)).toEqual(Array(5).fill(undefined));
    expect(throttle.fail('shop.example', 'unknown', 1)).toBeDefined();
  });

  it('counts the sum of another instance as that many failures', () => {
    apply('auth.throttled.v1', { count: 400, instance: 'other' }, 0);
    expect(throttle.fail('shop.example', 'unknown', 1)).toBeDefined();
  });

  it('drops a site without a failure in the window', () => {
    fail(20, 0);
    throttle.flush(WINDOW_MS);
    expect(throttle.fail('shop.example', 'unknown', WINDOW_MS + 1)).toBeUndefined();
  });
});
