import { SendFailure } from '../http/client/send-failure.js';
import { afterFailure, type Verdict, verdictOf, verdictOfFailure } from './verdict.js';

const NOW = Date.parse('2026-03-29T01:00:00Z');
const HOUR = 3_600_000;
const RULES = { scheduleMs: [5_000, 300_000, 10 * HOUR], disableAfterMs: 120 * HOUR };
const answer = (status: number, headers = {}) =>
  verdictOf({ status, headers, text: '', json: undefined, truncated: false }, NOW);
const refused = (verdict: object = {}) =>
  ({ taken: false, reason: 'HTTP 500', ...verdict }) as Verdict & { taken: false };
const since = (hoursAgo: number, failures: number) => ({
  failures,
  failingSince: new Date(NOW - hoursAgo * HOUR).toISOString(),
});
const waitMs = ({ nextTry }: { nextTry?: string | undefined }) => nextTry && Date.parse(nextTry) - NOW;

describe('an answer', () => {
  it.each([200, 201, 204, 299])('of %d is a yes', (status) => {
    expect(answer(status)).toEqual({ taken: true, httpStatus: status });
  });

  it.each([301, 302, 304, 307, 308, 400, 401, 404, 408, 429, 500, 503, 599])('of %d is a no', (status) => {
    expect(answer(status)).toMatchObject({
      taken: false,
      httpStatus: status,
      reason: expect.stringContaining(`${status}`),
    });
  });

  it('can ask for a longer wait, in seconds or with a date', () => {
    expect(answer(429, { 'retry-after': '120' })).toMatchObject({ afterMs: 120_000 });
    expect(answer(503, { 'retry-after': 'Sun, 29 Mar 2026 01:10:00 GMT' })).toMatchObject({ afterMs: 600_000 });
    expect(answer(503, { 'retry-after': 'soon' })).toMatchObject({ afterMs: undefined });
  });

  it('of 410 ends it', () => {
    expect(answer(410)).toMatchObject({ taken: false, gone: true });
  });

  it('that did not come is named', () => {
    expect(verdictOfFailure(new SendFailure('timeout', true, 'hooks.example did not answer.'))).toEqual({
      taken: false,
      reason: 'timeout: hooks.example did not answer.',
    });
  });
});

describe('a failure', () => {
  it('is followed by the next wait of the schedule, whose last one repeats', () => {
    expect(waitMs(afterFailure(refused(), undefined, NOW, RULES))).toBe(5_000);
    expect(waitMs(afterFailure(refused(), since(1, 1), NOW, RULES))).toBe(300_000);
    expect(waitMs(afterFailure(refused(), since(1, 7), NOW, RULES))).toBe(10 * HOUR);
  });

  it('waits longer where the receiver asks for it, never shorter', () => {
    expect(waitMs(afterFailure(refused({ afterMs: 60_000 }), undefined, NOW, RULES))).toBe(60_000);
    expect(waitMs(afterFailure(refused({ afterMs: 1_000 }), undefined, NOW, RULES))).toBe(5_000);
  });

  it('knows since when it fails, and how often', () => {
    expect(afterFailure(refused(), undefined, NOW, RULES)).toMatchObject(since(0, 1));
    expect(afterFailure(refused(), since(3, 4), NOW, RULES)).toMatchObject(since(3, 5));
  });

  it('has its last try when the time is up, and no further', () => {
    expect(waitMs(afterFailure(refused(), since(115, 9), NOW, RULES))).toBe(5 * HOUR);
    expect(afterFailure(refused(), since(120, 9), NOW, RULES)).not.toHaveProperty('nextTry');
  });

  it('has none when the receiver is gone', () => {
    expect(afterFailure(refused({ gone: true }), undefined, NOW, RULES)).not.toHaveProperty('nextTry');
  });
});
