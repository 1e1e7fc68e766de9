import { hash } from 'node:crypto';
import { hashPersonal } from '../src/conversions/hash-personal.js';
import { PlatformClient } from '../src/delivery/connections/platform-client.js';
import type { AttemptResult } from '../src/delivery/destination-queue.js';
import type { DeliveryPayload } from '../src/delivery/payload/payload.js';
import type { Conversion } from '../src/platforms/conversion.js';
import { shippedNames } from '../src/platforms/defined/shipped.js';
import { PLATFORM_NAMES } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { accountOf, ConnectedPlatform, type DeliveryResult } from './support/connected-platform.js';
import { PLATFORM_CASES, type PlatformCase } from './support/platform-cases.js';
import { ANONYMOUS, customSettingsOf, presetsOf, SAMPLE_CONVERSIONS } from './support/sample-conversions.js';

const SHORT_TIMEOUT_MS = 200;
const SAMPLES = Object.entries(SAMPLE_CONVERSIONS) as [keyof typeof SAMPLE_CONVERSIONS, Conversion][];
const UNREADABLE = { status: 'deferred', reason: 'server_error' };

let sandbox: RunningSandbox;
const client = new PlatformClient(false);
const clientWithShortTimeout = new PlatformClient(false, SHORT_TIMEOUT_MS);

beforeAll(async () => {
  sandbox = await new Sandbox().start();
});
afterAll(async () => {
  await Promise.all([client.close(), clientWithShortTimeout.close()]);
  await sandbox.stop();
});

const connect = (platformCase: PlatformCase, through = client) =>
  new ConnectedPlatform(platformCase, sandbox.url, through);

/** Moves the conversion to the current time, because platforms refuse old ones. */
function justNow(conversion: Conversion): Conversion {
  const laterMs = Date.now() - conversion.timeMs;
  const { visit } = conversion;
  if (!visit) return { ...conversion, timeMs: conversion.timeMs + laterMs };
  const clicks = Object.entries(visit.clicks).map(([kind, { id, timeMs }]) => [kind, { id, timeMs: timeMs + laterMs }]);
  return {
    ...conversion,
    timeMs: conversion.timeMs + laterMs,
    visit: { ...visit, clicks: Object.fromEntries(clicks) },
  };
}

/** Conversions of different orders, each a second after the previous one. */
function orders(count: number): Conversion[] {
  const sample = justNow(SAMPLE_CONVERSIONS['with-click-id']);
  return Array.from({ length: count }, (_, index) => ({
    ...sample,
    externalId: 'Customer-42',
    id: `019535d0-6b10-7000-8000-00000000200${index}`,
    eventId: `ORD-200${index}`,
    orderId: `ORD-200${index}`,
    timeMs: sample.timeMs - (count - index) * 1_000,
  }));
}
const order = () => orders(1)[0] as Conversion;

const statuses = (sent: readonly DeliveryResult[]) => sent.map(({ status }) => status);

/** Personal data that a reason must not contain. */
const PERSONAL = /[0-9a-f]{32,}|203\.0\.113\.10|Mozilla|Gclid_|FbClid|TtClid|TwClid|ScCid_|RdtCid|Epik|@/i;

function expectReadable(reason: string | undefined): void {
  expect(reason).toMatch(/\w{3}/);
  expect(reason?.length).toBeLessThanOrEqual(200);
  expect(reason).not.toMatch(PERSONAL);
}

const silent = PLATFORM_CASES.filter((platformCase) => platformCase.silent);
const reporting = PLATFORM_CASES.filter((platformCase) => !platformCase.silent);
const batching = PLATFORM_CASES.filter(({ platform }) => platform.batchMax > 1);
const isolating = PLATFORM_CASES.filter(({ requestsToIsolate }) => requestsToIsolate !== undefined);
const refreshing = PLATFORM_CASES.filter(({ platform, connection }) => platform.token?.(connection));

it('every platform has a case', () => {
  expect(new Set(PLATFORM_CASES.map(({ platform }) => platform.name))).toEqual(
    new Set([...PLATFORM_NAMES, ...shippedNames()]),
  );
});

describe.each(PLATFORM_CASES)('$name', (platformCase) => {
  const { platform, connection, success, indistinguishable = [], ledgerId } = platformCase;

  it('has valid settings', () => {
    for (const { name, required, check } of platform.fields) {
      const value = connection.settings[name] ?? connection.secrets[name];
      expect([name, value === undefined ? required : check?.(value)]).toEqual([name, undefined]);
    }
    expect(platform.check?.(connection)).toBeUndefined();
  });

  it('delivers a conversion under its own id', async () => {
    const connected = connect(platformCase);
    const conversion = order();
    expect(await connected.sendOne(conversion)).toMatchObject({ status: success });
    const account = await connected.account();
    expect(account).toMatchObject({ items: 1, accepted: 1, problemKinds: {}, eventRequests: 1 });
    expect(Object.keys(account.events)).toEqual([ledgerId?.(conversion) ?? conversion.eventId]);
  });

  it.each(SAMPLES)('sends a valid payload for "%s"', async (name, sample) => {
    const connected = connect(platformCase);
    const reason = platformCase.skips?.[name];
    const sent = await connected.sendOne(justNow(sample));
    expect(sent).toMatchObject(reason === undefined ? { status: success } : { status: 'skipped', reason });
    const { accepted, problemKinds } = await connected.account();
    expect({ accepted, problemKinds }).toEqual({ accepted: reason === undefined ? 1 : 0, problemKinds: {} });
  });

  it('sends what a sender can state in the platform’s own fields', async () => {
    const connected = connect(platformCase);
    const presets = presetsOf(platform);
    const custom = customSettingsOf(platform, connected.connection);
    connected.connection = {
      ...connected.connection,
      settings: { ...connected.connection.settings, ...custom, ...(presets && { presets }) },
    };
    const sample = justNow(SAMPLE_CONVERSIONS['server-only']);
    const reason = platformCase.skips?.['server-only'];
    expect(await connected.sendOne(sample)).toMatchObject(reason ? { status: 'skipped', reason } : { status: success });
    expect((await connected.account()).problemKinds).toEqual({});
  });

  it('sends a valid payload without anything personal, or none', async () => {
    const connected = connect(platformCase);
    const takesIt = platform.takesAnonymous?.(connection.settings) === true;
    const sent = await connected.sendOne(justNow(ANONYMOUS));
    expect(sent).toMatchObject(takesIt ? { status: success } : { status: 'skipped', reason: 'consent_denied' });
    const { accepted, problemKinds } = await connected.account();
    expect({ accepted, problemKinds }).toEqual({ accepted: takesIt ? 1 : 0, problemKinds: {} });
  });

  it.each([
    ['a purchase', {}],
    ['a lead without an order', { event: 'lead', value: undefined, orderId: undefined }],
  ])('counts %s once that its pixel reported as well, where the platform can tell', async (_, over) => {
    const connected = connect(platformCase);
    const [pixels, ours, another] = orders(3).map((one) => ({ ...one, ...over, eventId: 'pixel-event-42' }));
    await connected.send([pixels as Conversion]);
    await connected.send([ours as Conversion]);
    const isOffline = connection.settings['mode'] === 'offline';
    const once = platform.deduplicatesPixel && !isOffline;
    expect(await connected.account()).toMatchObject({ accepted: 2, repeats: once ? 1 : 0 });
    await connected.send([{ ...(another as Conversion), eventId: 'pixel-event-43' }]);
    expect(await connected.account()).toMatchObject({ accepted: 3, repeats: once ? 1 : 0 });
  });

  it('sends the same body under the same id at every attempt', async () => {
    const connected = connect(platformCase);
    const conversion = order();
    await connected.send([conversion]);
    await connected.send([conversion]);
    const account = await connected.account();
    expect(account).toMatchObject({ accepted: 2, repeats: 1, repeatsChanged: 0 });
    const { body } = connected.buildPayload(conversion) as DeliveryPayload;
    expect(Object.values(account.events)).toMatchObject([{ times: 2, bodies: [hash('sha256', body)] }]);
  });

  it('skips a conversion without a usable identifier', async () => {
    const connected = connect(platformCase);
    const withoutEmail = hashPersonal({ email: '+news@gmail.com', event: 'purchase', currency: 'EUR' });
    const reason = platformCase.skipsWithoutEmail;
    const sent = await connected.sendOne({ ...justNow(SAMPLE_CONVERSIONS['hashed-only']), hashes: withoutEmail });
    expect(sent).toMatchObject(reason === undefined ? { status: success } : { status: 'skipped', reason });
    expect((await connected.account()).problemKinds).toEqual({});
  });

  it('skips events that are not selected', () => {
    const connected = connect(platformCase);
    expect(connected.buildPayload(order(), { events: 'lead' })).toEqual({ skip: 'event_not_selected' });
    expect(connected.buildPayload(order(), { events: 'lead,purchase' })).toHaveProperty('body');
  });

  it('reports an opt-out in the format of the platform, or skips the conversion', () => {
    const payload = connect(platformCase).buildPayload(justNow(SAMPLE_CONVERSIONS['consent-denied']));
    const skip = platformCase.skips?.['consent-denied'];
    if (skip) expect(payload).toEqual({ skip });
    else expect(JSON.parse((payload as DeliveryPayload).body)).toMatchObject(platformCase.optOut ?? {});
  });

  it('waits for a slow answer', async () => {
    const connected = connect(platformCase);
    await connected.behave('slow', { ms: 100 });
    expect(await connected.sendOne(order())).toMatchObject({ status: success });
  });

  it('reports a timeout when the platform hangs', async () => {
    const connected = connect(platformCase, clientWithShortTimeout);
    await connected.behave('hang');
    expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'timeout' });
  });

  it('sends nothing while the platform throttles', async () => {
    const connected = connect(platformCase);
    await connected.behave('throttle', { ms: 3_000, times: 1 });
    const sent = await connected.sendOne(order());
    expect(sent).toMatchObject({ status: 'deferred', reason: 'throttled' });
    expect((sent as AttemptResult).afterMs).toBeGreaterThanOrEqual(3_000);
    expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'throttled' });
    expect((await connected.account()).eventRequests).toBe(1);
  });

  it.each([500, 502, 503, 504])('retries after a %i', async (status) => {
    const connected = connect(platformCase);
    await connected.behave('server_error', { status, times: 1 });
    const conversion = order();
    const expected = { status: 'deferred', reason: 'server_error', httpStatus: status };
    expect(await connected.sendOne(conversion)).toMatchObject(expected);
    expect(await connected.sendOne(conversion)).toMatchObject({ status: success });
  });

  it.each(['half', 'drop', 'drop_before'])('retries after a closed connection (%s)', async (mode) => {
    const connected = connect(platformCase);
    await connected.behave(mode, { times: 1 });
    const conversion = order();
    expect(await connected.sendOne(conversion)).toMatchObject({ status: 'deferred', reason: 'network_error' });
    expect(await connected.sendOne(conversion)).toMatchObject({ status: success });
    expect((await connected.account()).repeatsChanged).toBe(0);
  });

  it.each<[string, object, object]>([
    ['html', {}, UNREADABLE],
    ['truncated', {}, UNREADABLE],
    ['huge', {}, UNREADABLE],
    ['gzip_bomb', {}, UNREADABLE],
    ['error_in_200', {}, { status: expect.stringMatching(/^(deferred|failed)$/) }],
    ['html', { status: 502 }, UNREADABLE],
    ['html', { status: 404 }, { status: 'failed' }],
    ['redirect', {}, { status: 'failed' }],
  ])('does not treat an unreadable answer as success (%s %j)', async (mode, more, expected) => {
    const connected = connect(platformCase);
    await connected.behave(mode, more);
    const isIndistinguishable = indistinguishable.includes(mode) && !('status' in more);
    expect(await connected.sendOne(order())).toMatchObject(isIndistinguishable ? { status: success } : expected);
    expect(connected.parked).toEqual([]);
    expect(await accountOf(sandbox.url, platform.name, 'redirected')).toMatchObject({ eventRequests: 0 });
  });

  it('does not retry after a 410', async () => {
    const connected = connect(platformCase);
    await connected.behave('gone');
    const sent = await connected.sendOne(order());
    if (platform.name === 'webhook') {
      expect(sent).toMatchObject({ status: 'deferred', reason: 'paused' });
      expectReadable(connected.paused[0]);
    } else expect(sent).toMatchObject({ status: 'failed', reason: expect.stringContaining('410') });
  });
});

describe.each(reporting)('$name, when the platform refuses', (platformCase) => {
  it('fails the conversion with a readable reason', async () => {
    const connected = connect(platformCase);
    await connected.behave('refuse');
    const sent = await connected.sendOne(order());
    expect(sent.status).toBe('failed');
    expectReadable(sent.reason);
    expect(await connected.account()).toMatchObject({ accepted: 0, eventRequests: 1 });
  });

  it.each(['unauthorized', 'forbidden'])(
    'parks the connection after refused credentials (%s) and loses nothing',
    async (mode) => {
      const connected = connect(platformCase);
      await connected.behave(mode);
      expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'authorization' });
      expect(connected.parked).toHaveLength(1);
      expectReadable(connected.parked[0]);
      expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'authorization' });
      // The second was not sent; the first was repeated with a fresh token if the connection refreshes tokens.
      expect((await connected.account()).eventRequests).toBe(refreshing.includes(platformCase) ? 2 : 1);
    },
  );
});

describe.each(silent)('$name, when the platform refuses silently', (platformCase) => {
  it.each(['refuse', 'unauthorized', 'forbidden'])(
    'reports success (%s), and only the ledger shows the loss',
    async (mode) => {
      const connected = connect(platformCase);
      await connected.behave(mode);
      expect(await connected.sendOne(order())).toMatchObject({ status: platformCase.success });
      expect(await connected.account()).toMatchObject({ items: 1, accepted: 0 });
    },
  );
});

describe.each(batching)('$name, with five conversions', (platformCase) => {
  const { success, requestsToIsolate = 0, ledgerId } = platformCase;

  it('delivers them in one request', async () => {
    const connected = connect(platformCase);
    const five = orders(5);
    expect(statuses(await connected.send(five))).toEqual(five.map(() => success));
    const account = await connected.account();
    expect(account).toMatchObject({ items: 5, accepted: 5, problemKinds: {}, eventRequests: 1 });
    expect(Object.keys(account.events)).toEqual(five.map((one) => ledgerId?.(one) ?? one.eventId));
  });

  it('loses no valid conversion when one is refused once', async () => {
    const connected = connect(platformCase);
    await connected.behave('refuse_one', { times: 1 });
    // If the answer does not identify the conversion, all are sent again, and then all are accepted.
    const first = requestsToIsolate === 1 || requestsToIsolate === 2 ? 'failed' : success;
    expect(statuses(await connected.send(orders(5)))).toEqual([first, success, success, success, success]);
    expect((await connected.account()).eventRequests).toBeLessThanOrEqual(3);
  });

  it('defers all after few requests when the answers are unreadable', async () => {
    const connected = connect(platformCase);
    await connected.behave('huge');
    const sent = await connected.send(orders(5));
    expect(statuses(sent)).toEqual(sent.map(() => 'deferred'));
    expect((await connected.account()).eventRequests).toBeLessThanOrEqual(9);
  });
});

describe.each(isolating)('$name, with one invalid conversion among five', (platformCase) => {
  const { success, requestsToIsolate } = platformCase;

  it('delivers the other four, each once', async () => {
    const connected = connect(platformCase);
    const sent = await connected.send(orders(5), { invalid: 2 });
    expect(statuses(sent)).toEqual([success, success, 'failed', success, success]);
    expectReadable(sent[2]?.reason);
    expect(await connected.account()).toMatchObject({ accepted: 4, repeats: 0, eventRequests: requestsToIsolate });
  });
});

const caseOf = (name: string) => PLATFORM_CASES.find((one) => one.name === name) as PlatformCase;

describe('answers of single platforms', () => {
  it('finds the refused conversion of a batch that TikTok accepted in part, and repeats the others under their ids', async () => {
    const connected = connect(caseOf('tiktok'));
    await connected.behave('partial');
    const sent = await connected.send(orders(5), { invalid: 2 });
    expect(statuses(sent)).toEqual(['delivered', 'delivered', 'failed', 'delivered', 'delivered']);
    expect(await connected.account()).toMatchObject({ accepted: expect.any(Number), repeatsChanged: 0 });
    const { events } = await connected.account();
    expect(Object.values(events).filter(({ bodies }) => bodies.length > 1)).toEqual([]);
  });

  it('waits for the limit of a business use case at Meta', async () => {
    const connected = connect(caseOf('meta'));
    await connected.behave('business_limit', { times: 1 });
    expect(await connected.sendOne(order())).toMatchObject({
      status: 'deferred',
      reason: 'throttled',
      afterMs: 300_000,
    });
    expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'throttled' });
    expect((await connected.account()).eventRequests).toBe(1);
  });

  it.each([
    ['linkedin', 'other_method', {}],
    ['google_ads', 'destination', { reason: 'INVALID_DESTINATION' }],
    ['google_ads', 'destination', { reason: 'NOT_FOUND' }],
    ['google_ads', 'destination', { reason: 'OPERATING_ACCOUNT_MISMATCH_FOR_AD_IDENTIFIER' }],
    ['google_ads', 'destination', { reason: 'DESTINATION_ACCOUNT_DATA_POLICY_PROHIBITS_ENHANCED_CONVERSIONS' }],
  ])('parks %s after %s %j, and loses nothing', async (name, mode, more) => {
    const { platform, success } = caseOf(name);
    const connected = connect(caseOf(name));
    await connected.behave(mode, more);
    const five = orders(5);
    expect(new Set(statuses(await connected.send(five)))).toEqual(new Set(['deferred']));
    const [reason = ''] = connected.parked;
    expect(platform.fix?.(reason)).toMatch(/\w{3}/);
    await connected.behave('ok');
    connected.resume();
    expect(statuses(await connected.send(five))).toEqual(five.map(() => success));
    expect(await connected.account()).toMatchObject({ accepted: 5, repeatsChanged: 0 });
  });

  it('names the identifier that Google refuses, and accepts the conversion without it', async () => {
    const connected = connect(caseOf('google_ads'));
    const odd = { ...justNow(SAMPLE_CONVERSIONS['with-details']), address: { postalCode: 'nowhere', country: 'US' } };
    const [refused, other] = await connected.send([odd, order()]);
    expect(refused).toMatchObject({
      status: 'failed',
      without: ['address'],
      reason: expect.stringMatching(/^INVALID_POSTAL_CODE/),
    });
    expect(other).toMatchObject({ status: 'accepted' });
    expect(await connected.sendOne({ ...odd, address: undefined })).toMatchObject({ status: 'accepted' });
  });
});

describe.each(refreshing)('$name, with access tokens that expire', (platformCase) => {
  const { success, platform } = platformCase;
  const rotates = platform.name === 'microsoft_ads';

  it('requests one token for concurrent requests', async () => {
    const connected = connect(platformCase);
    const sent = await connected.send(orders(5), { alone: true });
    expect(statuses(sent)).toEqual(sent.map(() => success));
    expect(await connected.account()).toMatchObject({ eventRequests: 5, tokenRequests: 1 });
  });

  it('replaces a stale token once for concurrent requests', async () => {
    const connected = connect(platformCase);
    const stale = await connected.accessToken();
    const fresh = await Promise.all(orders(5).map(() => connected.accessToken(connected.connection, stale)));
    expect(new Set(fresh).size).toBe(1);
    expect(fresh[0]).not.toBe(stale);
    expect((await connected.account()).tokenRequests).toBe(2);
  });

  it('repeats a refused request once with a fresh token', async () => {
    const connected = connect(platformCase);
    await connected.behave('unauthorized', { times: 1 });
    expect(await connected.sendOne(order())).toMatchObject({ status: success });
    expect(connected.parked).toEqual([]);
    const { eventRequests, tokenRequests } = await connected.account();
    expect(eventRequests).toBe(2);
    expect(tokenRequests).toBe(2);
  });

  it('stores a rotated refresh token', async () => {
    const connected = connect(platformCase);
    const first = await connected.accessToken();
    const second = await connected.accessToken(connected.connection, first);
    expect([first, second]).toEqual(['sandbox-token-1', 'sandbox-token-2']);
    expect(connected.refreshTokens).toEqual(rotates ? ['sandbox-refresh-1', 'sandbox-refresh-2'] : []);
  });

  it.each(['refuse', 'unauthorized', 'forbidden'])(
    'parks the connection when the token is refused (%s)',
    async (mode) => {
      const connected = connect(platformCase);
      await connected.behave(mode, { call: 'token' });
      expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'authorization' });
      expect(connected.parked).toHaveLength(1);
      expectReadable(connected.parked[0]);
      expect((await connected.account()).eventRequests).toBe(0);
    },
  );

  it.each(['throttle', 'server_error', 'drop_before', 'html', 'huge', 'gzip_bomb', 'redirect'])(
    'retries when the token endpoint fails (%s)',
    async (mode) => {
      const connected = connect(platformCase);
      await connected.behave(mode, { call: 'token', times: 1 });
      const conversion = order();
      expect(await connected.sendOne(conversion)).toMatchObject({ status: 'deferred', reason: 'network_error' });
      expect(connected.parked).toEqual([]);
      expect(await connected.sendOne(conversion)).toMatchObject({ status: success });
    },
  );

  it.each(['half', 'drop', 'truncated'])('retries when the token answer is incomplete (%s)', async (mode) => {
    const connected = connect(platformCase);
    await connected.behave(mode, { call: 'token', times: 1 });
    const conversion = order();
    expect(await connected.sendOne(conversion)).toMatchObject({ status: 'deferred', reason: 'network_error' });
    // The answer contained the new refresh token, and the old one was revoked with it. Only after some minutes is it certain
    // that no process has the new one.
    const expected = rotates ? { status: 'deferred', reason: 'network_error' } : { status: success };
    expect(await connected.sendOne(conversion)).toMatchObject(expected);
    expect(connected.parked).toEqual([]);
  });
});

describe('customer URL', () => {
  const platformCase = PLATFORM_CASES.find(({ platform }) => platform.name === 'webhook') as PlatformCase;
  const { platform } = platformCase;

  async function post(through: PlatformClient): Promise<number> {
    const settings = { url: `${sandbox.url}/webhook@own/conversions` };
    expect(platform.fields.find(({ name }) => name === 'url')?.check?.(settings.url)).toBeUndefined();
    const connection = { ...platformCase.connection, settings };
    const payload = connect(platformCase).buildPayload(order()) as DeliveryPayload;
    const request = platform.request([payload.body], { connection, nowMs: Date.now() });
    return (await through.request(platform, request, connection)).status;
  }

  it('must be neither local nor http', async () => {
    await expect(post(client)).rejects.toMatchObject({ outcome: { kind: 'rejected', reason: 'address_refused' } });
    expect(await accountOf(sandbox.url, 'webhook', 'own')).toMatchObject({ eventRequests: 0 });
  });

  it('may be local and http if the operator allows it', async () => {
    const allowing = new PlatformClient(true);
    expect(await post(allowing)).toBe(200);
    await allowing.close();
    expect(await accountOf(sandbox.url, 'webhook', 'own')).toMatchObject({ accepted: 1, problemKinds: {} });
  });
});
