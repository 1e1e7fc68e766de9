import { type Outcome } from '../events/delivery.events.js';
import type { Connection, Platform, PlatformResponse, Verdict } from '../platforms/platform.js';
import { AccessTokens } from './access-tokens.js';
import { Confirmations } from './confirmations.js';
import type { ReceivedConversion } from './received.js';
import type { Due } from './retries.js';

const POLL_MS = 1_800_000;
const HOUR_MS = 3_600_000;
const CONNECTION: Connection = { settings: {}, secrets: {} };

describe('Confirmations', () => {
  let asked: string[];
  let verdict: Verdict | Error;
  let connection: Connection | undefined;
  let counted: Outcome[];
  let confirmations: Confirmations;

  const platform = {
    name: 'google_ads',
    confirmation: {
      request: (requestId: string) => ({ method: 'GET', url: requestId, headers: {} }),
      verdict: () => verdict,
    },
  } as unknown as Platform;

  beforeEach(() => {
    asked = [];
    counted = [];
    connection = CONNECTION;
    verdict = { kind: 'retry', reason: 'server_error' };
    const send = async (_: Platform, { url }: { url: string }): Promise<PlatformResponse> => {
      asked.push(url);
      if (verdict instanceof Error) throw verdict;
      return { status: 200, headers: {}, text: '', json: {} };
    };
    confirmations = new Confirmations(
      {
        platform: () => platform,
        connection: () => connection,
        send,
        count: (outcome) => counted.push(outcome),
      },
      new AccessTokens({
        send,
        keepRefreshToken: async () => {},
        reload: async () => undefined,
      }),
      POLL_MS,
    );
  });

  const ask = (requestId: string, { conversionId = 'c1', ageMs = HOUR_MS } = {}): Promise<Outcome> => {
    const time = new Date(Date.now() - ageMs).toISOString();
    const received = { site: 'shop.example', time, data: { conversionId } } as ReceivedConversion;
    const details = { requestId, bodySha256: 'b', eventId: 'ORD-1-r2', settings: 4 };
    const row = { site: 'shop.example', platform: 'google_ads', details } as Due;
    return new Promise((resolve) => confirmations.ask({ row, received, attempt: 3 }, resolve));
  };
  const waitOf = ({ nextTry }: Outcome) => Date.parse(nextTry as string) - Date.now();

  it('asks once for all conversions of a call, and tells each', async () => {
    verdict = { kind: 'delivered' };
    const outcomes = await Promise.all(['c1', 'c2', 'c3'].map((conversionId) => ask('r1', { conversionId })));
    await ask('r2');
    expect(asked).toEqual(['r1', 'r2']);
    expect(outcomes.map(({ conversionId }) => conversionId)).toEqual(['c1', 'c2', 'c3']);
    expect(outcomes[0]).toMatchObject({
      ...{ status: 'confirmed', platform: 'google_ads', attempt: 3, requestId: 'r1', httpStatus: 200 },
      ...{ bodySha256: 'b', eventId: 'ORD-1-r2', settings: 4, nextTry: undefined },
    });
    expect(counted).toHaveLength(4);
  });

  it('asks again after a while, as long as the platform is at it', async () => {
    const outcome = await ask('r1');
    expect(outcome).toMatchObject({ status: 'accepted', requestId: 'r1' });
    expect(Math.abs(waitOf(outcome) - POLL_MS)).toBeLessThan(1_000);
  });

  it('takes accepted for the last word after a day', async () => {
    expect(waitOf(await ask('r1', { ageMs: 23.9 * HOUR_MS }))).toBeGreaterThan(0);
    expect(await ask('r2', { ageMs: 24.1 * HOUR_MS })).toMatchObject({ status: 'accepted', nextTry: undefined });
    verdict = { kind: 'delivered' };
    expect(await ask('r3', { ageMs: 24.1 * HOUR_MS })).toMatchObject({ status: 'confirmed' });
  });

  it('tells what the platform refused', async () => {
    verdict = { kind: 'rejected', reason: 'PROCESSING_ERROR' };
    expect(await ask('r1')).toMatchObject({ status: 'rejected', reason: 'PROCESSING_ERROR', nextTry: undefined });
  });

  it('has each sent alone where some count and some do not', async () => {
    verdict = { kind: 'split', reason: 'PARTIAL_SUCCESS' };
    const outcome = await ask('r1');
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'pending', alone: true, bodySha256: 'b' });
    expect(Math.abs(waitOf(outcome))).toBeLessThan(1_000);
  });

  it('has it sent again where the platform wants that, when it wants it', async () => {
    verdict = { kind: 'retry', reason: 'server_error', afterMs: HOUR_MS };
    const outcome = await ask('r1');
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'pending' });
    expect(Math.abs(waitOf(outcome) - HOUR_MS)).toBeLessThan(1_000);
  });

  it('asks again when nobody answers, or answers with something else', async () => {
    verdict = new Error('the line is dead');
    expect(await ask('r1')).toMatchObject({ status: 'accepted', requestId: 'r1', nextTry: expect.any(String) });
    verdict = { kind: 'unauthorized', reason: 'HTTP 401' };
    expect(await ask('r2')).toMatchObject({ status: 'accepted', requestId: 'r2', nextTry: expect.any(String) });
  });

  it('leaves it at accepted when the platform is not connected any more', async () => {
    connection = undefined;
    expect(await ask('r1')).toMatchObject({ status: 'accepted', nextTry: undefined });
    expect(asked).toEqual([]);
  });
});
