import type { Outcome } from '../events/delivery.events.js';
import type { Settings } from '../kernel/settings/settings.js';
import type { Conversion } from '../platforms/conversion.js';
import type { Connection, Platform, PlatformResponse, Verdict } from '../platforms/platform.js';
import { Confirmations } from './confirmations.js';
import { AccessTokens } from './connections/access-tokens.js';
import type { Connections, Destination } from './connections/connections.js';
import type { PlatformClient } from './connections/platform-client.js';
import type { TokenStore } from './connections/token-store.js';
import type { DueDelivery } from './deliveries.projection.js';
import type { DeliveryMetrics } from './delivery-metrics.js';
import type { ReceivedConversion } from './received-conversion.js';

const POLL_MS = 1_800_000;
const HOUR_MS = 3_600_000;
const NOW_MS = Date.parse('2026-03-01T10:00:00Z');
const CONNECTION: Connection = { settings: {}, secrets: {} };
const DATA = { conversionId: 'c1', event: 'purchase', currency: 'EUR' };
const PERSONAL = { subject: 'a'.repeat(64), clickIds: { gclid: 'G' } };

describe('Confirmations', () => {
  let requested: string[];
  let verdict: Verdict | Error;
  let isConnected: boolean;
  let parked: string[];
  let counted: Outcome[];
  let settings: { confirmationPollMs: number } & Settings;
  let confirmations: Confirmations;

  const platform = {
    name: 'google_ads',
    account: [],
    payload: ({ hashes: { subject }, visit }: Conversion) =>
      subject ? { item: { subject, gclid: visit?.clicks.gclid?.id } } : { skip: 'no_identifier' },
    confirmation: {
      request: (requestId: string) => ({ method: 'GET', url: requestId, headers: {} }),
      verdict: () => verdict,
    },
  } as unknown as Platform;

  beforeEach(() => {
    settings = { confirmationPollMs: POLL_MS } as Settings;
    requested = [];
    counted = [];
    isConnected = true;
    parked = [];
    verdict = { kind: 'retry', reason: 'server_error' };
    const client = {
      request: async (_: Platform, { url }: { url: string }): Promise<PlatformResponse> => {
        requested.push(url);
        if (verdict instanceof Error) throw verdict;
        return { status: 200, headers: {}, text: '', json: {} };
      },
    } as unknown as PlatformClient;
    const siteConnection = { settings: {}, version: 9, versions: [] };
    const site = { settings: {} };
    const destination = { platform, connection: CONNECTION, siteConnection, site } as unknown as Destination;
    confirmations = new Confirmations(
      {
        find: () => (isConnected ? destination : undefined),
        park: async (_: string, __: string, reason: string) => void parked.push(reason),
      } as unknown as Connections,
      new AccessTokens(client, {} as TokenStore),
      client,
      { count: (outcome: Outcome) => counted.push(outcome) } as unknown as DeliveryMetrics,
      { nowMs: () => NOW_MS },
      settings,
    );
  });

  const confirm = (requestId: string, { conversionId = 'c1', ageMs = HOUR_MS, correction = false } = {}) => {
    const time = new Date(NOW_MS - ageMs).toISOString();
    const received = { site: 'shop.example', time, data: { conversionId, correction } } as ReceivedConversion;
    const details = { requestId, bodySha256: 'b', eventId: 'ORD-1-r2', settings: 4, siteVersion: 9 };
    const due = { site: 'shop.example', platform: 'google_ads', details } as DueDelivery;
    return confirmations.confirm({ due, received, attempt: 3 });
  };
  const delayOf = ({ nextTry }: Outcome) => Date.parse(nextTry as string) - NOW_MS;

  it('keeps the settings that the conversion was sent with, for a delivery that is sent again', async () => {
    verdict = { kind: 'split', reason: 'partial' } as Verdict;
    expect(await confirm('r1')).toMatchObject({ status: 'deferred', settings: 4, siteVersion: 9, bodySha256: 'b' });
  });

  it('sends one status request for all conversions of a request and reports an outcome for each', async () => {
    verdict = { kind: 'delivered' };
    const outcomes = await Promise.all(['c1', 'c2', 'c3'].map((conversionId) => confirm('r1', { conversionId })));
    await confirm('r2');
    expect(requested).toEqual(['r1', 'r2']);
    expect(outcomes.map(({ conversionId }) => conversionId)).toEqual(['c1', 'c2', 'c3']);
    expect(outcomes[0]).toMatchObject({
      ...{ status: 'confirmed', platform: 'google_ads', attempt: 3, requestId: 'r1', httpStatus: 200 },
      ...{ bodySha256: 'b', eventId: 'ORD-1-r2', settings: 4, nextTry: undefined },
    });
    expect(counted).toHaveLength(4);
  });

  it('reports outcomes of a correction as those that statistics do not count', async () => {
    verdict = { kind: 'delivered' };
    expect(await confirm('r1')).toMatchObject({ uncounted: undefined });
    expect(await confirm('r1', { correction: true })).toMatchObject({ status: 'confirmed', uncounted: true });
  });

  it('polls again while the platform is still processing', async () => {
    const outcome = await confirm('r1');
    expect(outcome).toMatchObject({ status: 'accepted', requestId: 'r1' });
    expect(Math.abs(delayOf(outcome) - POLL_MS)).toBeLessThan(1_000);
  });

  it('asks the platform again at the next poll, however short that is', async () => {
    settings.confirmationPollMs = 20;
    await confirm('r1');
    await new Promise((resolve) => setTimeout(resolve, 20));
    await confirm('r1');
    expect(requested).toEqual(['r1', 'r1']);
  });

  it('treats accepted as final after a day', async () => {
    expect(delayOf(await confirm('r1', { ageMs: 23.9 * HOUR_MS }))).toBeGreaterThan(0);
    expect(await confirm('r2', { ageMs: 24.1 * HOUR_MS })).toMatchObject({ status: 'accepted', nextTry: undefined });
    verdict = { kind: 'delivered' };
    expect(await confirm('r3', { ageMs: 24.1 * HOUR_MS })).toMatchObject({ status: 'confirmed' });
  });

  it('reports the reason of a rejection', async () => {
    verdict = { kind: 'rejected', reason: 'PROCESSING_ERROR' };
    expect(await confirm('r1')).toMatchObject({ status: 'rejected', reason: 'PROCESSING_ERROR', nextTry: undefined });
  });

  describe('if the platform refused an identifier', () => {
    const outcomeWith = (refused: Verdict, { sent = {}, personal = PERSONAL as unknown } = {}) => {
      verdict = refused;
      const received = { site: 'shop.example', time: new Date(NOW_MS).toISOString(), data: DATA, personal };
      const details = { requestId: 'r1', bodySha256: 'b', ...sent };
      const due = { site: 'shop.example', platform: 'google_ads', details } as DueDelivery;
      return confirmations.confirm({ due, received: received as unknown as ReceivedConversion, attempt: 3 });
    };
    const withoutClick: Verdict = { kind: 'without', identifiers: ['click'], reason: 'INVALID_GCLID' };
    const withoutEmail: Verdict = { kind: 'without', identifiers: ['email'], reason: 'INVALID' };
    const refused = { status: 'rejected', nextTry: undefined };

    it('sends the conversion again without it, as a new body', async () => {
      const outcome = await outcomeWith(withoutClick);
      expect(outcome).toMatchObject({ status: 'deferred', reason: 'identifier_refused', without: ['click'] });
      expect(outcome).toMatchObject({
        unknown: false,
        unknownSince: undefined,
        bodySha256: expect.stringMatching(/^[0-9a-f]{64}$/),
      });
      expect(delayOf(outcome)).toBe(0);
    });

    it('ends with the refusal if nothing else identifies the person, or it was sent without another one', async () => {
      expect(await outcomeWith(withoutEmail)).toMatchObject({ ...refused, reason: 'INVALID', bodySha256: 'b' });
      const again = await outcomeWith(withoutClick, { sent: { requestId: 'r2', without: ['phone'] } });
      expect(again).toMatchObject({ ...refused, reason: 'INVALID_GCLID', without: ['phone'], bodySha256: 'b' });
    });

    it('ends with the refusal if the person was erased since', async () => {
      expect(await outcomeWith(withoutClick, { personal: null })).toMatchObject(refused);
    });
  });

  it('defers each conversion to a request of its own if only some of them count', async () => {
    verdict = { kind: 'split', reason: 'PARTIAL_SUCCESS' };
    const outcome = await confirm('r1');
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'pending', alone: true, bodySha256: 'b', settings: 4 });
    // The platform may have counted it: the delivery is bound since its receipt.
    const unknownSince = new Date(NOW_MS - HOUR_MS).toISOString();
    expect(outcome).toMatchObject({ unknown: true, unknownSince });
    expect(Math.abs(delayOf(outcome))).toBeLessThan(1_000);
  });

  it('defers the conversion to the time at which the platform wants it again', async () => {
    verdict = { kind: 'retry', reason: 'server_error', afterMs: HOUR_MS };
    const outcome = await confirm('r1');
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'pending' });
    expect(Math.abs(delayOf(outcome) - HOUR_MS)).toBeLessThan(1_000);
  });

  it('parks the connection for a wrong setting and defers the conversions until it is fixed', async () => {
    verdict = { kind: 'misconfigured', reason: 'TERMS_NOT_SIGNED' };
    const outcomes = await Promise.all(['c1', 'c2'].map((conversionId) => confirm('r1', { conversionId })));
    // The platform has refused it: a later attempt is not bound to this account.
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'deferred', reason: 'authorization', unknown: false });
    expect(outcomes[0]?.unknownSince).toBeUndefined();
    expect(parked).toEqual(['TERMS_NOT_SIGNED']);
  });

  it('polls again after a network error or an unexpected answer', async () => {
    verdict = new Error('connection reset');
    expect(await confirm('r1')).toMatchObject({ status: 'accepted', requestId: 'r1', nextTry: expect.any(String) });
    verdict = { kind: 'unauthorized', reason: 'HTTP 401' };
    expect(await confirm('r2')).toMatchObject({ status: 'accepted', requestId: 'r2', nextTry: expect.any(String) });
  });

  it('stays accepted without a status request if an earlier version stored only a part of the request id', async () => {
    expect(await confirm('sandbox-1-1-0-…')).toMatchObject({ status: 'accepted', nextTry: undefined });
    expect(requested).toEqual([]);
  });

  it('stays accepted without a status request if the platform is disconnected', async () => {
    isConnected = false;
    expect(await confirm('r1')).toMatchObject({ status: 'accepted', nextTry: undefined });
    expect(requested).toEqual([]);
  });
});
