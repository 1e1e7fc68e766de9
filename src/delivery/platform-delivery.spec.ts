import type { Outcome } from '../events/delivery.events.js';
import type { Logger } from '../kernel/logger.js';
import type { Settings as ServiceSettings } from '../kernel/settings/settings.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { Call, Platform, PlatformResponse, Settings, Verdict } from '../platforms/platform.js';
import { asOfIn } from '../sites/connections/connection.js';
import { NO_TRACING } from '../tracing/tracing.js';
import type { AccessTokens } from './connections/access-tokens.js';
import type { Connections, Destination } from './connections/connections.js';
import type { PlatformClient } from './connections/platform-client.js';
import type { DeliveryMetrics } from './delivery-metrics.js';
import { type DeliveryRequest, PlatformDelivery } from './platform-delivery.js';
import type { ReceivedConversion } from './received-conversion.js';

const HOUR_MS = 3_600_000;
const SECOND = { pixel_id: 'second' };
const LONG_AGO = { time: new Date(Date.now() - 167.1 * HOUR_MS).toISOString() };
const CHANGED = { bodySha256: 'x', unknownSince: new Date().toISOString() };

describe('PlatformDelivery', () => {
  let verdict: Verdict;
  let nowMs: number;
  let sent: string[];
  let pixels: (string | undefined)[];
  let errors: string[];
  let payload: Platform['payload'];
  let destination: Destination | undefined;
  let optedOut: Set<string>;
  let erased: Set<number>;
  let deliveries: PlatformDelivery;

  beforeEach(() => {
    verdict = { kind: 'delivered', requestId: 'r1' };
    nowMs = Date.now();
    sent = [];
    pixels = [];
    errors = [];
    optedOut = new Set();
    erased = new Set();
    payload = (_, settings) => ({ item: { pixel: settings['pixel_id'] } });
    const platform = {
      name: 'meta',
      batchMax: 10,
      account: ['pixel_id'],
      limits: () => ({ dedupWindowMs: 48 * HOUR_MS, ageMaxMs: 168 * HOUR_MS }),
      payload: (...args: Parameters<Platform['payload']>) => payload(...args),
      request: (items: readonly string[], { connection }: Call) => {
        sent.push(...items);
        pixels.push(connection.settings['pixel_id']);
        return { method: 'POST', url: 'https://platform.example', headers: {} };
      },
      verdict: () => verdict,
    } as unknown as Platform;
    const versions = [
      { version: 1, settings: { pixel_id: 'first' } },
      { version: 8, settings: SECOND },
    ];
    destination = {
      site: { settings: { withhold: 'identifiers' }, host: 'shop.example' },
      platform,
      siteConnection: { state: 'active', settings: SECOND, version: 8, versions },
      connection: { settings: SECOND, secrets: {} },
      state: 'active',
    } as unknown as Destination;
    deliveries = new PlatformDelivery(
      {
        find: (_: string, platform: ConnectionName) =>
          destination && { ...destination, siteConnection: { ...destination.siteConnection, platform } },
      } as unknown as Connections,
      { get: async () => undefined } as unknown as AccessTokens,
      {
        request: async () => ({ status: 200, headers: {}, text: '', json: {} }) satisfies PlatformResponse,
      } as unknown as PlatformClient,
      { count: () => {} } as unknown as DeliveryMetrics,
      { error: (_: string, { error }: { error: string }) => errors.push(error) } as unknown as Logger,
      { nowMs: () => nowMs },
      {
        deliveryRetryScheduleMs: [30_000],
        deliveryGiveUpMs: 168 * HOUR_MS,
        confirmationPollMs: 1_800_000,
      } as unknown as ServiceSettings,
      NO_TRACING,
      async () => ({ optedOut, erased }),
    );
  });

  const deliver = (request: Partial<DeliveryRequest> = {}, received: object = {}, data: object = {}) =>
    deliveries.deliver({
      received: {
        ...{ site: 'shop.example', position: 5, time: new Date().toISOString(), personal: { subject: 's' } },
        data: { conversionId: 'c1', event: 'purchase', currency: 'EUR', trial: false, siteVersion: 5, ...data },
        ...received,
      } as unknown as ReceivedConversion,
      platform: 'meta',
      attempt: 1,
      mayDeliver: () => true,
      ...request,
    });
  const isoAgo = (hours: number) => new Date(nowMs - hours * HOUR_MS).toISOString();
  const hoursAgo = (hours: number) => ({ time: isoAgo(hours) });

  it('counts the platform’s age limit from when the conversion occurred', async () => {
    const occurred = (hours: number) => deliver({}, {}, { occurredAt: isoAgo(hours) });
    expect(await occurred(8 * 24)).toMatchObject({ status: 'skipped', reason: 'too_old' });
    expect(await occurred(6 * 24)).toMatchObject({ status: 'delivered' });
    // A sender's clock that is ahead does not lengthen the limit.
    expect(await deliver({}, hoursAgo(167), { occurredAt: isoAgo(166.9) })).toMatchObject({ status: 'delivered' });
    expect(await deliver({}, hoursAgo(167.01), { occurredAt: isoAgo(166.9) })).toMatchObject({ reason: 'too_old' });
  });

  it('sends a first attempt with the settings of the receipt', async () => {
    const outcome = await deliver();
    expect(outcome).toMatchObject({ conversionId: 'c1', platform: 'meta', attempt: 1, status: 'delivered' });
    expect([sent, pixels, outcome?.settings]).toEqual([['{"pixel":"first"}'], ['first'], undefined]);
  });

  it('sends the retry of a clear refusal to the pixel that is connected now', async () => {
    verdict = { kind: 'retry', reason: 'server_error', unknown: false };
    const refused = await deliver();
    expect(refused).toMatchObject({ status: 'deferred', unknown: false });
    verdict = { kind: 'delivered' };
    const { bodySha256, unknownSince } = refused as Outcome;
    const retried = await deliver({ attempt: 2, bodySha256, unknownSince });
    expect(retried).toMatchObject({ status: 'delivered', siteVersion: 8 });
    expect([sent, pixels]).toEqual([
      ['{"pixel":"first"}', '{"pixel":"second"}'],
      ['first', 'second'],
    ]);
  });

  it.each([
    ['keyed digest', { personal: { subject: 's', payloadKey: 'k1' } }],
    ['plain digest of an earlier version', { personal: { subject: 's' } }],
  ])('sends a bound retry only with the same body, by a %s, and nothing after an erasure', async (_, received) => {
    verdict = { kind: 'retry', reason: 'timeout' };
    const { bodySha256, unknownSince } = (await deliver({}, received)) as Outcome;
    verdict = { kind: 'delivered' };
    const retry = { attempt: 2, bodySha256, unknownSince };
    expect(await deliver(retry, received)).toMatchObject({ status: 'delivered', bodySha256 });
    payload = () => ({ item: { pixel: 'another' } });
    expect(await deliver(retry, received)).toMatchObject({ status: 'failed', reason: 'body_changed' });
    expect(await deliver(retry, { personal: null })).toMatchObject({ status: 'failed', reason: 'erased' });
    expect(sent).toHaveLength(2);
  });

  it('sends the retries of an unknown outcome to its pixel, also after a clear refusal', async () => {
    verdict = { kind: 'retry', reason: 'server_error' };
    const first = (await deliver()) as Outcome;
    expect(first).toMatchObject({ status: 'deferred', unknown: true, unknownSince: expect.any(String) });
    verdict = { kind: 'retry', reason: 'server_error', unknown: false };
    const { bodySha256, siteVersion, unknownSince } = first;
    const second = (await deliver({ attempt: 2, bodySha256, asOf: asOfIn({ siteVersion }), unknownSince })) as Outcome;
    expect(second).toMatchObject({ status: 'deferred', unknown: false, unknownSince });
    verdict = { kind: 'delivered' };
    expect(await deliver({ attempt: 3, bodySha256, asOf: asOfIn({ siteVersion }), unknownSince })).toMatchObject({
      status: 'delivered',
    });
    expect(new Set(sent)).toEqual(new Set(['{"pixel":"first"}']));
    expect(pixels).toEqual(['first', 'first', 'first']);
  });

  it('stays with the pixel of a retry whose outcome was unknown', async () => {
    verdict = { kind: 'retry', reason: 'timeout' };
    const retried = (await deliver({ attempt: 2 })) as Outcome;
    expect(retried).toMatchObject({ siteVersion: 8, unknown: true });
    Object.assign(destination?.siteConnection as object, {
      ...{ version: 20, settings: { pixel_id: 'third' } },
      versions: [
        ...(destination as Destination).siteConnection.versions,
        { version: 20, settings: { pixel_id: 'third' } },
      ],
    });
    const { siteVersion, unknownSince, bodySha256 } = retried;
    await deliver({ attempt: 3, asOf: asOfIn({ siteVersion }), unknownSince, bodySha256 });
    expect(pixels).toEqual(['second', 'second']);
  });

  it('reports that a bound delivery has lost its account when another one was connected after a disconnection', async () => {
    const { siteConnection } = destination as Destination;
    Object.assign(siteConnection, {
      versions: [siteConnection.versions[0], { version: 8, settings: SECOND, reconnected: true }],
    });
    const unknownSince = isoAgo(1);
    expect(await deliver({ attempt: 2, unknownSince })).toMatchObject({
      ...{ status: 'failed', reason: 'account_disconnected', unknownSince },
    });
    expect(await deliver({ attempt: 2, unknownSince, asOf: { siteVersion: 8 } })).toMatchObject({
      status: 'delivered',
    });
    expect(await deliver({ attempt: 2 })).toMatchObject({ status: 'delivered' });
    expect(pixels).toEqual(['second', 'second']);
  });

  it('binds a delivery that a process which has ended may have sent', async () => {
    const maybeSentAt = isoAgo(46);
    verdict = { kind: 'retry', reason: 'server_error', unknown: false };
    const first = await deliver({ maybeSentAt }, hoursAgo(46));
    expect(first).toMatchObject({ status: 'deferred', unknownSince: maybeSentAt, giveUpAt: isoAgo(-1) });
    verdict = { kind: 'delivered' };
    const retried = await deliver({ attempt: 2, maybeSentAt }, hoursAgo(60));
    expect(retried).toMatchObject({ status: 'delivered', siteVersion: 8, unknownSince: maybeSentAt });
    expect(pixels).toEqual(['first', 'second']);
    const tooLate = await deliver({ attempt: 2, maybeSentAt: isoAgo(47.1) }, hoursAgo(60));
    expect(tooLate).toMatchObject({ status: 'failed', reason: 'gave_up' });
  });

  it('does not send to an earlier account of a platform that answers wrong credentials like right ones', async () => {
    Object.assign(destination?.platform as object, { hidesRefusals: true });
    const outcome = await deliver({ attempt: 2, unknownSince: isoAgo(1) });
    expect(outcome).toMatchObject({ status: 'failed', reason: 'account_disconnected' });
    expect(sent).toEqual([]);
  });

  it('keeps what never reached the platform for as long as the platform accepts it', async () => {
    Object.assign(destination as Destination, { state: 'parked' });
    const held = await deliver({ attempt: 2 }, hoursAgo(60));
    expect(held).toMatchObject({ status: 'deferred', reason: 'authorization', giveUpAt: isoAgo(60 - 167) });
    Object.assign(destination as Destination, { state: 'active' });
    expect(await deliver({ attempt: 3 }, hoursAgo(60))).toMatchObject({ status: 'delivered' });
    Object.assign(destination as Destination, { state: 'parked' });
    expect(await deliver({ attempt: 4 }, hoursAgo(8 * 24))).toMatchObject({ status: 'failed', reason: 'gave_up' });
    const almostTooOld = hoursAgo(167 - 1 / 3_600);
    expect(await deliver({ attempt: 4 }, almostTooOld)).toMatchObject({ status: 'failed', reason: 'gave_up' });
  });

  it('counts the dedup window from the first unknown outcome, by the database’s time', async () => {
    nowMs += 400 * 24 * HOUR_MS;
    const late = { attempt: 3, unknownSince: isoAgo(46) };
    expect(await deliver(late, hoursAgo(100))).toMatchObject({ status: 'delivered' });
    expect(await deliver({ ...late, unknownSince: isoAgo(47.1) }, hoursAgo(100))).toMatchObject({
      ...{ status: 'failed', reason: 'gave_up' },
    });
  });

  it('judges the age by the endpoint that the settings select', async () => {
    const limits = ({ pixel_id }: Settings) => ({ ageMaxMs: (pixel_id === 'second' ? 90 : 7) * 24 * HOUR_MS });
    Object.assign(destination?.platform as object, { limits });
    expect(await deliver({ attempt: 2 }, hoursAgo(8 * 24))).toMatchObject({ status: 'delivered' });
    expect(await deliver({}, hoursAgo(8 * 24))).toMatchObject({ status: 'skipped', reason: 'too_old' });
  });

  it.each<[string, object, object, Partial<DeliveryRequest>, object]>([
    ['of an erased person', { personal: null }, {}, {}, { status: 'failed', reason: 'erased' }],
    ['that is too old', LONG_AGO, {}, {}, { status: 'skipped', reason: 'too_old' }],
    ['that was retried for too long', LONG_AGO, {}, { attempt: 2 }, { status: 'failed', reason: 'gave_up' }],
    ['whose payload has changed', {}, {}, CHANGED, { status: 'failed', reason: 'body_changed' }],
    ['of a trial key', {}, { trial: true }, {}, { status: 'validated', bodySha256: expect.any(String) }],
  ])('does not send a conversion %s', async (_, received, data, request, outcome) => {
    expect(await deliver(request, received, data)).toMatchObject(outcome);
    expect(sent).toEqual([]);
  });

  it('does not send to a disconnected platform, nor against an opt-out that the site honours', async () => {
    Object.assign(destination?.site.settings as object, { withhold: 'everything' });
    expect(await deliver({}, {}, { consent: 'denied', withheld: 'opted_out' })).toMatchObject({
      status: 'skipped',
      reason: 'consent_denied',
    });
    destination = undefined;
    expect(await deliver()).toMatchObject({ status: 'failed', reason: 'disconnected' });
    expect(sent).toEqual([]);
  });

  it('defers a conversion whose payload cannot be built because of a bug', async () => {
    payload = () => {
      throw new TypeError('cannot read x of undefined');
    };
    const outcome = await deliver({ attempt: 2, bodySha256: 'b' });
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'server_error', bodySha256: 'b' });
    expect(Date.parse(outcome?.nextTry as string)).toBeGreaterThan(Date.now());
    expect(errors).toEqual(['cannot read x of undefined']);
  });

  it('reports the time of the next attempt, which stays alone if this one was', async () => {
    verdict = { kind: 'retry', reason: 'server_error', afterMs: HOUR_MS };
    const outcome = await deliver({ alone: true });
    expect(outcome).toMatchObject({ status: 'deferred', reason: 'server_error', alone: true });
    expect(Date.parse(outcome?.nextTry as string)).toBe(nowMs + HOUR_MS);
    verdict = { kind: 'retry', reason: 'server_error' };
    const late = await deliver({ attempt: 2 }, hoursAgo(166.9995));
    expect(late).toMatchObject({ status: 'failed', reason: 'gave_up' });
  });

  describe('when the platform refuses an identifier', () => {
    const address = { postalCode: 'nowhere', country: 'US' };
    const person = { personal: { subject: 's', address } };
    const refusal = 'INVALID_POSTAL_CODE at address';
    beforeEach(() => {
      payload = ({ hashes, address: found }) => ({ item: { email: hashes.subject, address: found } });
      verdict = { kind: 'without', identifiers: ['address'], reason: refusal };
    });
    const items = () => sent.map((item) => JSON.parse(item));

    it('sends the conversion again at once without it, with a body of its own', async () => {
      const refused = await deliver({}, person);
      const time = new Date(nowMs).toISOString();
      expect(refused).toMatchObject({
        status: 'deferred',
        reason: 'identifier_refused',
        nextTry: time,
        unknown: false,
      });
      expect(refused?.without).toEqual(['address']);
      verdict = { kind: 'delivered' };
      const { without, bodySha256 } = refused as Outcome;
      const again = await deliver({ attempt: 2, without, bodySha256 }, person);
      expect(again).toMatchObject({ status: 'delivered', without: ['address'], bodySha256 });
      expect(items()).toEqual([{ email: 's', address }, { email: 's' }]);
    });

    it('fails with the words of the platform if it refuses that as well', async () => {
      const outcome = await deliver({ attempt: 2, without: ['address'] }, person);
      expect(outcome).toMatchObject({ status: 'failed', reason: refusal, without: ['address'] });
    });

    it.each<[string, Platform['payload']]>([
      ['nothing would identify the person', ({ address: found }) => (found ? { item: {} } : { skip: 'no_identifier' })],
      ['the payload does not contain it', () => ({ item: { email: 's' } })],
    ])('fails with the words of the platform if %s', async (_, build) => {
      payload = build;
      expect(await deliver({}, person)).toMatchObject({ status: 'failed', reason: refusal });
      expect(sent).toHaveLength(1);
    });

    it('sends it again to an account that may have accepted it before, and stays bound', async () => {
      verdict = { kind: 'retry', reason: 'timeout' };
      const { bodySha256, unknownSince } = (await deliver({}, person)) as Outcome;
      verdict = { kind: 'without', identifiers: ['address'], reason: refusal };
      const refused = await deliver({ attempt: 2, bodySha256, unknownSince }, person);
      expect(refused).toMatchObject({ status: 'deferred', reason: 'identifier_refused', unknownSince });
      expect(refused?.bodySha256).not.toBe(bodySha256);
      verdict = { kind: 'delivered' };
      const { bodySha256: next, without } = refused as Outcome;
      expect(await deliver({ attempt: 3, bodySha256: next, unknownSince, without }, person)).toMatchObject({
        ...{ status: 'delivered', bodySha256: next },
      });
      expect(pixels).toEqual(['first', 'first', 'first']);
    });

    it('keeps the identifier out of every later attempt', async () => {
      verdict = { kind: 'retry', reason: 'server_error' };
      const deferred = await deliver({ attempt: 2, without: ['address'] }, person);
      expect(deferred).toMatchObject({ status: 'deferred', reason: 'server_error', without: ['address'] });
    });
  });

  describe('after an opt-out of the person', () => {
    const visit = { clicks: {}, cookies: {}, utm: {}, ip: '203.0.113.9' };
    const personal = { subject: 's', visit, clickIds: { gclid: 'G' }, ipAddress: '203.0.113.8', userAgent: 'UA' };
    // One receipt: clicks that the sender stated have its time.
    const withPersonal = { personal, time: new Date().toISOString() };
    beforeEach(() => {
      optedOut.add('s');
      payload = ({ consent, visit: found, personalization }) =>
        ({ item: { consent, visit: found ?? null, personalization: personalization ?? null } }) as never;
    });

    it('sends a retry as a conversion that is received now: without identifiers', async () => {
      const outcome = await deliver({ attempt: 2 }, withPersonal, { consent: 'granted', personalization: 'granted' });
      expect(outcome).toMatchObject({ status: 'delivered', attempt: 2 });
      expect(sent.map((item) => JSON.parse(item))).toEqual([{ consent: 'denied', visit: null, personalization: null }]);
    });

    it('ends a retry where the site or the platform takes nothing of people who have opted out', async () => {
      const skipped = { status: 'skipped', reason: 'consent_denied', attempt: 2 };
      payload = ({ consent }) => (consent === 'denied' ? { skip: 'consent_denied' } : { item: {} });
      expect(await deliver({ attempt: 2 }, withPersonal)).toMatchObject(skipped);
      payload = () => ({ item: {} });
      const site = { settings: { withhold: 'everything' }, host: 'shop.example' };
      destination = { ...(destination as Destination), site: site as Destination['site'] };
      expect(await deliver({ attempt: 2 }, withPersonal)).toMatchObject(skipped);
      expect(sent).toEqual([]);
    });

    const BOUND = { attempt: 3, unknownSince: new Date().toISOString(), asOf: { siteVersion: 8 } };
    const digestOf = async () => ((await deliver({ attempt: 2 }, withPersonal)) as Outcome).bodySha256;

    it('ends a retry with the consent of before, which may have been accepted', async () => {
      optedOut.clear();
      const bodySha256 = await digestOf();
      optedOut.add('s');
      expect(await deliver({ ...BOUND, bodySha256 }, withPersonal)).toMatchObject({
        ...{ status: 'skipped', reason: 'consent_denied', unknownSince: BOUND.unknownSince },
      });
      expect(sent).toHaveLength(1);
    });

    it('repeats a retry with the opt-out, which may have been accepted, also if the person opts in again', async () => {
      const bodySha256 = await digestOf();
      expect(await deliver({ ...BOUND, bodySha256 }, withPersonal)).toMatchObject({ status: 'delivered' });
      optedOut.clear();
      expect(await deliver({ ...BOUND, bodySha256 }, withPersonal)).toMatchObject({ status: 'delivered' });
      expect(new Set(sent).size).toBe(1);
    });

    describe('on a site that withholds everything personal', () => {
      beforeEach(() => {
        const site = { settings: { withhold: 'personal' }, host: 'shop.example' };
        const platform = { ...destination?.platform, takesAnonymous: () => true } as unknown as Platform;
        destination = { ...(destination as Destination), site: site as Destination['site'], platform };
        payload = ({ consent, hashes, isAnonymous }) => ({ item: { consent, hashes, isAnonymous } });
      });

      it('sends a retry without the person, where the platform takes it', async () => {
        expect(await deliver({ attempt: 2 }, withPersonal)).toMatchObject({ status: 'delivered', attempt: 2 });
        expect(sent.map((item) => JSON.parse(item))).toEqual([{ consent: 'denied', hashes: {}, isAnonymous: true }]);
      });

      it('ends a retry where the platform does not take it', async () => {
        destination = { ...(destination as Destination), platform: { ...destination?.platform } as Platform };
        delete (destination.platform as { takesAnonymous?: unknown }).takesAnonymous;
        const skipped = { status: 'skipped', reason: 'consent_denied' };
        expect(await deliver({ attempt: 2 }, withPersonal)).toMatchObject(skipped);
        expect(await deliver({}, withPersonal, { consent: 'denied', withheld: 'undecided' })).toMatchObject(skipped);
        expect(sent).toEqual([]);
      });

      it('ends a retry that may have been accepted with more, and repeats one without the person', async () => {
        const withheld = { consent: 'denied', withheld: 'opted_out' };
        const of = async (withhold: string) => {
          Object.assign(destination?.site.settings as object, { withhold });
          return ((await deliver({ attempt: 2 }, withPersonal, withheld)) as Outcome).bodySha256;
        };
        const [more, less] = [await of('identifiers'), await of('personal')];
        const bound = (bodySha256: string | undefined) => deliver({ ...BOUND, bodySha256 }, withPersonal, withheld);
        expect(await bound(more)).toMatchObject({ status: 'skipped', reason: 'consent_denied' });
        expect(await bound(less)).toMatchObject({ status: 'delivered', bodySha256: less });
        Object.assign(destination?.site.settings as object, { withhold: 'identifiers' });
        expect(await bound(less)).toMatchObject({ status: 'delivered', bodySha256: less });
      });
    });

    it('looks up nothing for a conversion that was just decided', async () => {
      await deliver({ decidedMs: performance.now() }, withPersonal, { consent: 'granted' });
      expect(JSON.parse(sent[0] as string)).toMatchObject({ consent: 'granted', visit: { ip: '203.0.113.8' } });
    });
  });

  it('sends nothing of a person who was erased after the conversion was read', async () => {
    erased.add(5);
    expect(await deliver({ attempt: 2 })).toMatchObject({ status: 'failed', reason: 'erased', attempt: 2 });
    expect(await deliver({ attempt: 2 }, {}, { consent: 'denied' })).toMatchObject({ reason: 'erased' });
    expect(await deliver({ attempt: 2 }, { position: 6 })).toMatchObject({ status: 'delivered' });
    expect(sent).toHaveLength(1);
  });

  it('has a queue and a circuit breaker for each connection of a platform', async () => {
    verdict = { kind: 'retry', reason: 'server_error' };
    await Promise.all(Array.from({ length: 100 }, () => deliver({ alone: true })));
    verdict = { kind: 'delivered' };
    expect(await deliver()).toMatchObject({ status: 'deferred', reason: 'circuit_open' });
    expect(await deliver({ platform: 'meta:second' })).toMatchObject({
      platform: 'meta:second',
      status: 'delivered',
    });
  });

  it('reports no outcome for a conversion it may not deliver', async () => {
    expect(await deliver({ mayDeliver: () => false })).toBeUndefined();
  });
});
