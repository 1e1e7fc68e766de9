import { SendFailure } from '../http/client/send-failure.js';
import { afterFailure, type Verdict, verdictOf, verdictOfFailure } from './push-verdict.js';

const NOW = Date.parse('2026-03-29T01:00:00Z');
const HOUR = 3_600_000;
const RULES = { scheduleMs: [5_000, 300_000, 10 * HOUR], disableAfterMs: 120 * HOUR };
const answer = (status: number, headers = {}) =>
  verdictOf({ status, headers, text: '', json: undefined, truncated: false }, NOW);
const refused = (verdict: object = {}) =>
  ({ accepted: false, reason: 'HTTP 500', ...verdict }) as Verdict & { accepted: false };
const since = (hoursAgo: number, failures: number) => ({
  failures,
  failingSince: new Date(NOW - hoursAgo * HOUR).toISOString(),
});
const waitMs = ({ nextTry }: { nextTry?: string | undefined }) => nextTry && Date.parse(nextTry) - NOW;

describe('an answer', () => {
  it.each([200, 201, 204, 299])('%d is accepted', (status) => {
    expect(answer(status)).toEqual({ accepted: true, httpStatus: status });
  });

  it.each([301, 302, 304, 307, 308, 400, 401, 404, 408, 429, 500, 503, 599])('%d is not accepted', (status) => {
    expect(answer(status)).toMatchObject({
      accepted: false,
      httpStatus: status,
      reason: expect.stringContaining(`${status}`),
    });
  });

  it('can request a longer wait, in seconds or as a date', () => {
    expect(answer(429, { 'retry-after': '120' })).toMatchObject({ afterMs: 120_000 });
    expect(answer(503, { 'retry-after': 'Sun, 29 Mar 2026 01:10:00 GMT' })).toMatchObject({ afterMs: 600_000 });
    expect(answer(503, { 'retry-after': 'soon' })).toMatchObject({ afterMs: undefined });
  });

  it('410 ends the retries', () => {
    expect(answer(410)).toMatchObject({ accepted: false, gone: true });
  });

  it('reports the reason when there is no response', () => {
    expect(verdictOfFailure(new SendFailure('timeout', true, 'hooks.example did not answer.'))).toEqual({
      accepted: false,
      reason: 'timeout: hooks.example did not answer.',
    });
  });
});

describe('a failure', () => {
  it('waits according to the schedule, whose last entry repeats', () => {
    expect(waitMs(afterFailure(refused(), undefined, NOW, RULES))).toBe(5_000);
    expect(waitMs(afterFailure(refused(), since(1, 1), NOW, RULES))).toBe(300_000);
    expect(waitMs(afterFailure(refused(), since(1, 7), NOW, RULES))).toBe(10 * HOUR);
  });

  it('waits longer on Retry-After, never shorter', () => {
    expect(waitMs(afterFailure(refused({ afterMs: 60_000 }), undefined, NOW, RULES))).toBe(60_000);
    expect(waitMs(afterFailure(refused({ afterMs: 1_000 }), undefined, NOW, RULES))).toBe(5_000);
  });

  it('counts consecutive failures and their start', () => {
    expect(afterFailure(refused(), undefined, NOW, RULES)).toMatchObject(since(0, 1));
    expect(afterFailure(refused(), since(3, 4), NOW, RULES)).toMatchObject(since(3, 5));
  });

  it('makes the last attempt when the time is up', () => {
    expect(waitMs(afterFailure(refused(), since(115, 9), NOW, RULES))).toBe(5 * HOUR);
    expect(afterFailure(refused(), since(120, 9), NOW, RULES)).not.toHaveProperty('nextTry');
  });

  it('makes no further attempt after 410', () => {
    expect(afterFailure(refused({ gone: true }), undefined, NOW, RULES)).not.toHaveProperty('nextTry');
  });
});
