import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { jest } from '@jest/globals';
import { hashPersonal } from '../src/conversions/hash-personal.js';
import type { AttemptResult } from '../src/delivery/destination-queue.js';
import type { DeliveryPayload } from '../src/delivery/payload.js';
import { PlatformClient } from '../src/delivery/platform-client.js';
import type { Conversion } from '../src/platforms/conversion.js';
import { PLATFORM_NAMES } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { accountOf, ConnectedPlatform, type Sent } from './support/connected-platform.js';
import { PLATFORM_CASES, type PlatformCase } from './support/platform-cases.js';
import { SAMPLE_CONVERSIONS } from './support/sample-conversions.js';

jest.setTimeout(30_000);

const IMPATIENT_MS = 200;
const SAMPLES = Object.entries(SAMPLE_CONVERSIONS) as [keyof typeof SAMPLE_CONVERSIONS, Conversion][];
const UNREADABLE = { status: 'deferred', reason: 'server_error' };
const MEGABYTE = 1024 * 1024;

let sandbox: RunningSandbox;
const client = new PlatformClient(false);
const impatientClient = new PlatformClient(false, IMPATIENT_MS);

beforeAll(async () => {
  sandbox = await new Sandbox().start();
});
afterAll(async () => {
  await Promise.all([client.close(), impatientClient.close()]);
  await sandbox.stop();
});

const connect = (about: PlatformCase, by = client) => new ConnectedPlatform(about, sandbox.url, by);

/** As if it had come in just now: platforms refuse what is too old. */
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

/** Of an order of its own, each a second after the one before. */
function orders(count: number): Conversion[] {
  const sample = justNow(SAMPLE_CONVERSIONS['with-click-id']);
  return Array.from({ length: count }, (_, index) => ({
    ...sample,
    id: `019535d0-6b10-7000-8000-00000000200${index}`,
    eventId: `ORD-200${index}`,
    orderId: `ORD-200${index}`,
    timeMs: sample.timeMs - (count - index) * 1_000,
  }));
}
const order = () => orders(1)[0] as Conversion;

const statuses = (sent: readonly Sent[]) => sent.map(({ status }) => status);

/** What a person may not find about somebody else in a reason. */
const PERSONAL = /[0-9a-f]{32,}|203\.0\.113\.10|Mozilla|Gclid_|FbClid|TtClid|TwClid|ScCid_|RdtCid|Epik|@/i;

function expectReadable(reason: string | undefined): void {
  expect(reason).toMatch(/\w{3}/);
  expect(reason?.length).toBeLessThanOrEqual(200);
  expect(reason).not.toMatch(PERSONAL);
}

const silent = PLATFORM_CASES.filter((about) => about.silent);
const speaking = PLATFORM_CASES.filter((about) => !about.silent);
const batching = PLATFORM_CASES.filter(({ platform }) => platform.batchMax > 1);
const isolating = PLATFORM_CASES.filter(({ callsToIsolate }) => callsToIsolate !== undefined);
const refreshing = PLATFORM_CASES.filter(({ platform, connection }) => platform.token?.(connection));

it('has a case for every platform', () => {
  expect(new Set(PLATFORM_CASES.map(({ platform }) => platform.name))).toEqual(new Set(PLATFORM_NAMES));
});

describe.each(PLATFORM_CASES)('$name', (about) => {
  const { platform, connection, success, blindTo = [], idAt } = about;

  it('is connected with settings that it takes', () => {
    for (const { name, required, check } of platform.fields) {
      const value = connection.settings[name] ?? connection.secrets[name];
      expect([name, value === undefined ? required : check?.(value)]).toEqual([name, undefined]);
    }
    expect(platform.check?.(connection)).toBeUndefined();
  });

  it('has delivered a conversion, under its own id', async () => {
    const connected = connect(about);
    const conversion = order();
    expect(await connected.sendOne(conversion)).toMatchObject({ status: success });
    const account = await connected.account();
    expect(account).toMatchObject({ items: 1, taken: 1, problemKinds: {}, eventCalls: 1 });
    expect(Object.keys(account.events)).toEqual([idAt?.(conversion) ?? conversion.eventId]);
  });

  it.each(SAMPLES)('finds nothing wrong with "%s"', async (name, sample) => {
    const connected = connect(about);
    const reason = about.skips?.[name];
    const sent = await connected.sendOne(justNow(sample));
    expect(sent).toMatchObject(reason === undefined ? { status: success } : { status: 'skipped', reason });
    const { taken, problemKinds } = await connected.account();
    expect({ taken, problemKinds }).toEqual({ taken: reason === undefined ? 1 : 0, problemKinds: {} });
  });

  it('gets the same body under the same id when it is sent twice', async () => {
    const connected = connect(about);
    const conversion = order();
    await connected.send([conversion]);
    await connected.send([conversion]);
    const account = await connected.account();
    expect(account).toMatchObject({ taken: 2, repeats: 1, repeatsChanged: 0 });
    const { bodySha256 } = connected.buildPayload(conversion) as DeliveryPayload;
    expect(Object.values(account.events)).toMatchObject([{ times: 2, bodies: [bodySha256] }]);
  });

  it('is not sent what it could not tell whose it is', async () => {
    const connected = connect(about);
    const nameless = hashPersonal({ email: '+news@gmail.com', event: 'purchase', currency: 'EUR' });
    const reason = about.skipsWithoutEmail;
    const sent = await connected.sendOne({ ...justNow(SAMPLE_CONVERSIONS['hashed-only']), hashes: nameless });
    expect(sent).toMatchObject(reason === undefined ? { status: success } : { status: 'skipped', reason });
    expect((await connected.account()).problemKinds).toEqual({});
  });

  it('is not sent events that are not selected', () => {
    const connected = connect(about);
    expect(connected.buildPayload(order(), { events: 'lead' })).toEqual({ skip: 'event_not_selected' });
    expect(connected.buildPayload(order(), { events: 'lead,purchase' })).toHaveProperty('body');
  });

  it('is told of an opt-out in its own words, or nothing at all', () => {
    const payload = connect(about).buildPayload(justNow(SAMPLE_CONVERSIONS['consent-denied']));
    const skip = about.skips?.['consent-denied'];
    if (skip) expect(payload).toEqual({ skip });
    else expect(JSON.parse((payload as DeliveryPayload).body)).toMatchObject(about.optOut ?? {});
  });

  it('is waited for when it is slow', async () => {
    const connected = connect(about);
    await connected.behave('slow', { ms: 100 });
    expect(await connected.sendOne(order())).toMatchObject({ status: success });
  });

  it('hangs: that is a timeout', async () => {
    const connected = connect(about, impatientClient);
    await connected.behave('hang');
    const sent = await connected.sendOne(order());
    expect(sent).toMatchObject({ status: 'deferred', reason: 'timeout' });
    expect((sent as AttemptResult).durationMs).toBeLessThan(5_000);
  });

  it('throttles: it is left alone for as long as it asks', async () => {
    const connected = connect(about);
    await connected.behave('throttle', { ms: 3_000, times: 1 });
    const sent = await connected.sendOne(order());
    expect(sent).toMatchObject({ status: 'deferred', reason: 'throttled' });
    expect((sent as AttemptResult).afterMs).toBeGreaterThanOrEqual(3_000);
    expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'throttled' });
    expect((await connected.account()).eventCalls).toBe(1);
  });

  it.each([500, 502, 503, 504])('answers %i: it is tried again', async (status) => {
    const connected = connect(about);
    await connected.behave('server_error', { status, times: 1 });
    const conversion = order();
    const expected = { status: 'deferred', reason: 'server_error', httpStatus: status };
    expect(await connected.sendOne(conversion)).toMatchObject(expected);
    expect(await connected.sendOne(conversion)).toMatchObject({ status: success });
  });

  it.each(['half', 'drop', 'drop_before'])('breaks off (%s): it is tried again', async (mode) => {
    const connected = connect(about);
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
  ])('answers nonsense (%s %j): that is no success where the answer is read', async (mode, more, expected) => {
    const connected = connect(about);
    await connected.behave(mode, more);
    const isBlind = blindTo.includes(mode) && !('status' in more);
    expect(await connected.sendOne(order())).toMatchObject(isBlind ? { status: success } : expected);
    expect(connected.parked).toEqual([]);
    expect(await accountOf(sandbox.url, platform.name, 'redirected')).toMatchObject({ eventCalls: 0 });
  });

  it('is gone: the conversion is not sent again and again', async () => {
    const connected = connect(about);
    await connected.behave('gone');
    const sent = await connected.sendOne(order());
    if (platform.name === 'webhook') {
      expect(sent).toMatchObject({ status: 'deferred', reason: 'paused' });
      expectReadable(connected.paused[0]);
    } else expect(sent).toMatchObject({ status: 'failed', reason: expect.stringContaining('410') });
  });
});

describe.each(speaking)('$name, when it refuses', (about) => {
  it('says so: the conversion has failed, for a reason that can be read', async () => {
    const connected = connect(about);
    await connected.behave('refuse');
    const sent = await connected.sendOne(order());
    expect(sent.status).toBe('failed');
    expectReadable(sent.reason);
    expect(await connected.account()).toMatchObject({ taken: 0, eventCalls: 1 });
  });

  it.each(['unauthorized', 'forbidden'])('the credentials (%s): it is parked, and nothing is lost', async (mode) => {
    const connected = connect(about);
    await connected.behave(mode);
    expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'authorization' });
    expect(connected.parked).toHaveLength(1);
    expectReadable(connected.parked[0]);
    expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'authorization' });
    // The second was not sent; for the first a fresh token was tried where there is one.
    expect((await connected.account()).eventCalls).toBe(refreshing.includes(about) ? 2 : 1);
  });
});

describe.each(silent)('$name, when it refuses', (about) => {
  it.each(['refuse', 'unauthorized', 'forbidden'])('says nothing (%s): only the sandbox knows', async (mode) => {
    const connected = connect(about);
    await connected.behave(mode);
    expect(await connected.sendOne(order())).toMatchObject({ status: about.success });
    expect(await connected.account()).toMatchObject({ items: 1, taken: 0 });
  });
});

describe.each(batching)('$name, with five conversions', (about) => {
  const { success, callsToIsolate = 0, idAt } = about;

  it('has delivered them in one call', async () => {
    const connected = connect(about);
    const five = orders(5);
    expect(statuses(await connected.send(five))).toEqual(five.map(() => success));
    const account = await connected.account();
    expect(account).toMatchObject({ items: 5, taken: 5, problemKinds: {}, eventCalls: 1 });
    expect(Object.keys(account.events)).toEqual(five.map((one) => idAt?.(one) ?? one.eventId));
  });

  it('refuses one, once: no good one is lost', async () => {
    const connected = connect(about);
    await connected.behave('refuse_one', { times: 1 });
    // Where nobody is named all are tried again, and then nothing is wrong any more.
    const first = callsToIsolate === 1 || callsToIsolate === 2 ? 'failed' : success;
    expect(statuses(await connected.send(orders(5)))).toEqual([first, success, success, success, success]);
    expect((await connected.account()).eventCalls).toBeLessThanOrEqual(3);
  });

  it('answers nonsense: all of them wait, after few calls', async () => {
    const connected = connect(about);
    await connected.behave('huge');
    const sent = await connected.send(orders(5));
    expect(statuses(sent)).toEqual(sent.map(() => 'deferred'));
    expect((await connected.account()).eventCalls).toBeLessThanOrEqual(9);
  });
});

describe.each(isolating)('$name, with a bad one among five', (about) => {
  const { success, callsToIsolate } = about;

  it('takes the four others, each once', async () => {
    const connected = connect(about);
    const sent = await connected.send(orders(5), { spoiled: 2 });
    expect(statuses(sent)).toEqual([success, success, 'failed', success, success]);
    expectReadable(sent[2]?.reason);
    expect(await connected.account()).toMatchObject({ taken: 4, repeats: 0, eventCalls: callsToIsolate });
  });
});

describe.each(refreshing)('$name, with tokens that do not last', (about) => {
  const { success, platform } = about;
  const rotates = platform.name === 'microsoft_ads';

  it('fetches one for all calls at the same time', async () => {
    const connected = connect(about);
    const sent = await connected.send(orders(5), { alone: true });
    expect(statuses(sent)).toEqual(sent.map(() => success));
    expect(await connected.account()).toMatchObject({ eventCalls: 5, tokenCalls: 1 });
  });

  it('replaces a stale one once, however many calls found it stale', async () => {
    const connected = connect(about);
    const stale = await connected.accessToken();
    const fresh = await Promise.all(orders(5).map(() => connected.accessToken(connected.connection, stale)));
    expect(new Set(fresh).size).toBe(1);
    expect(fresh[0]).not.toBe(stale);
    expect((await connected.account()).tokenCalls).toBe(2);
  });

  it('sends a refused conversion again with a fresh one, once', async () => {
    const connected = connect(about);
    await connected.behave('unauthorized', { times: 1 });
    expect(await connected.sendOne(order())).toMatchObject({ status: success });
    expect(connected.parked).toEqual([]);
    const { eventCalls, tokenCalls } = await connected.account();
    expect(eventCalls).toBe(2);
    expect(tokenCalls).toBe(2);
  });

  it('keeps a refresh token that takes the place of the old one', async () => {
    const connected = connect(about);
    const first = await connected.accessToken();
    const second = await connected.accessToken(connected.connection, first);
    expect([first, second]).toEqual(['sandbox-token-1', 'sandbox-token-2']);
    expect(connected.refreshTokens).toEqual(rotates ? ['sandbox-refresh-1', 'sandbox-refresh-2'] : []);
  });

  it.each(['refuse', 'unauthorized', 'forbidden'])('gets none (%s): it is parked', async (mode) => {
    const connected = connect(about);
    await connected.behave(mode, { call: 'token' });
    expect(await connected.sendOne(order())).toMatchObject({ status: 'deferred', reason: 'authorization' });
    expect(connected.parked).toHaveLength(1);
    expectReadable(connected.parked[0]);
    expect((await connected.account()).eventCalls).toBe(0);
  });

  it.each(['throttle', 'server_error', 'drop_before', 'html', 'huge', 'gzip_bomb', 'redirect'])(
    'gets none for now (%s): it is tried again',
    async (mode) => {
      const connected = connect(about);
      await connected.behave(mode, { call: 'token', times: 1 });
      const conversion = order();
      expect(await connected.sendOne(conversion)).toMatchObject({ status: 'deferred', reason: 'network_error' });
      expect(connected.parked).toEqual([]);
      expect(await connected.sendOne(conversion)).toMatchObject({ status: success });
    },
  );

  it.each(['half', 'drop', 'truncated'])('gets half of one (%s): it is tried again', async (mode) => {
    const connected = connect(about);
    await connected.behave(mode, { call: 'token', times: 1 });
    const conversion = order();
    expect(await connected.sendOne(conversion)).toMatchObject({ status: 'deferred', reason: 'network_error' });
    // The new refresh token is lost with the answer. Where the old one ended with it, a person has to sign in again.
    const then = rotates ? { status: 'deferred', reason: 'authorization' } : { status: success };
    expect(await connected.sendOne(conversion)).toMatchObject(then);
  });
});

describe('the memory', () => {
  it('does not grow with what is answered', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    const hearAll = async (mode: string) => {
      for (const about of PLATFORM_CASES) {
        const connected = connect(about);
        await connected.behave(mode);
        await connected.sendOne(order());
        // The sandbox lives here too, and makes ten megabytes for every huge answer.
        if (mode === 'huge') collectGarbage();
      }
    };
    await hearAll('gzip_bomb');
    await hearAll('huge');
    const before = process.memoryUsage.rss();
    let most = before;
    const look = () => {
      most = Math.max(most, process.memoryUsage.rss());
    };
    const watch = setInterval(look, 2).unref();
    for (const mode of ['huge', 'gzip_bomb', 'truncated', 'html', 'half', 'error_in_200']) await hearAll(mode);
    clearInterval(watch);
    expect((most - before) / MEGABYTE).toBeLessThan(50);
  });
});

describe('an address of the customer’s own', () => {
  const about = PLATFORM_CASES.find(({ platform }) => platform.name === 'webhook') as PlatformCase;
  const { platform } = about;

  async function post(through: PlatformClient): Promise<number> {
    const settings = { url: `${sandbox.url}/webhook@own/conversions` };
    expect(platform.fields.find(({ name }) => name === 'url')?.check?.(settings.url)).toBeUndefined();
    const connection = { ...about.connection, settings };
    const payload = connect(about).buildPayload(order()) as DeliveryPayload;
    const request = platform.request([payload.body], { connection, nowMs: Date.now() });
    return (await through.request(platform, request, connection)).status;
  }

  it('is not called on this machine nor over http', async () => {
    await expect(post(client)).rejects.toMatchObject({ outcome: { kind: 'rejected', reason: 'address_refused' } });
    expect(await accountOf(sandbox.url, 'webhook', 'own')).toMatchObject({ eventCalls: 0 });
  });

  it('is called wherever it is where the operator allows it', async () => {
    const allowing = new PlatformClient(true);
    expect(await post(allowing)).toBe(200);
    await allowing.close();
    expect(await accountOf(sandbox.url, 'webhook', 'own')).toMatchObject({ taken: 1, problemKinds: {} });
  });
});
