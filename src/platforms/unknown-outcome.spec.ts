import { PLATFORMS } from './index.js';
import type { PlatformName, PlatformResponse, Verdict } from './platform.js';
import { isUnknownOutcome, mayHaveBeenAccepted } from './unknown-outcome.js';

const response = (status: number, json: unknown = {}): PlatformResponse => ({
  ...{ status, headers: {}, text: JSON.stringify(json) },
  json,
});

describe('mayHaveBeenAccepted', () => {
  it.each<[Verdict, boolean]>([
    [{ kind: 'delivered' }, false],
    [{ kind: 'accepted' }, false],
    [{ kind: 'rejected', reason: 'invalid' }, false],
    [{ kind: 'unauthorized', reason: 'HTTP 401' }, false],
    [{ kind: 'gone', reason: 'HTTP 410' }, false],
    [{ kind: 'resend' }, false],
    [{ kind: 'split', reason: 'invalid' }, false],
    [{ kind: 'split', reason: 'one of two was received', unknown: true }, true],
    [{ kind: 'retry', reason: 'throttled' }, false],
    [{ kind: 'retry', reason: 'timeout' }, true],
    [{ kind: 'retry', reason: 'network_error' }, true],
    [{ kind: 'retry', reason: 'network_error', unknown: false }, false],
    [{ kind: 'retry', reason: 'server_error' }, true],
  ])('judges %j', (verdict, unknown) => {
    expect(mayHaveBeenAccepted(verdict)).toBe(unknown);
  });

  it.each(PLATFORMS.map(({ name }) => [name]))(
    'judges the answers of %s by what the platform may have done',
    (name) => {
      const platform = PLATFORMS.find((candidate) => candidate.name === name);
      const unknown = (status: number, json?: unknown, items = 1) =>
        [platform?.verdict(response(status, json), items) as Verdict | Verdict[]].flat().some(mayHaveBeenAccepted);
      expect([500, 502, 503, 504].map((status) => unknown(status))).toEqual([true, true, true, true]);
      expect([400, 401, 403, 404, 425, 429].map((status) => unknown(status))).toEqual(Array(6).fill(false));
    },
  );

  it.each<[PlatformName, string, number, unknown, number, boolean]>([
    ['meta', 'a transient error', 200, { error: { code: 2 } }, 1, true],
    ['meta', 'throttling', 400, { error: { code: 17 } }, 1, false],
    ['meta', 'some events received', 200, { events_received: 1 }, 2, true],
    ['meta', 'no event received', 200, { events_received: 0 }, 2, false],
    ['tiktok', 'a system error', 200, { code: 50000 }, 1, true],
    ['tiktok', 'throttling', 200, { code: 40100 }, 1, false],
    ['google_ads', 'an aborted request', 409, { error: { status: 'ABORTED' } }, 1, false],
    ['microsoft_ads', 'an internal error', 200, { Errors: [{ Code: 0 }] }, 1, true],
    ['microsoft_ads', 'a goal that is too new', 200, { PartialErrors: [{ Code: 5615, Index: 0 }] }, 1, false],
    ['microsoft_ads', 'some events received', 200, { eventsReceived: 1 }, 2, true],
    ['x', 'some conversions processed', 200, { data: { conversions_processed: 1 } }, 2, true],
  ])('judges an answer of %s: %s', (name, _, status, json, items, unknown) => {
    const platform = PLATFORMS.find((candidate) => candidate.name === name);
    const verdicts = [platform?.verdict(response(status, json), items) as Verdict | Verdict[]].flat();
    expect(verdicts.some(mayHaveBeenAccepted)).toBe(unknown);
  });
});

describe('isUnknownOutcome', () => {
  it('follows the recorded value, or the reason where none was recorded', () => {
    expect(isUnknownOutcome(false, 'server_error')).toBe(false);
    expect(isUnknownOutcome(true, 'throttled')).toBe(true);
    expect(isUnknownOutcome(undefined, 'timeout')).toBe(true);
    expect(isUnknownOutcome(undefined, 'authorization')).toBe(false);
    expect(isUnknownOutcome(undefined, null)).toBe(false);
  });
});
