import { AccessTokens } from '../delivery/connections/access-tokens.js';
import { type ConnectionTest, testConnection } from '../delivery/connections/connection-test.js';
import { PlatformClient } from '../delivery/connections/platform-client.js';
import type { TokenStore } from '../delivery/connections/token-store.js';
import { PLATFORMS, platformOf } from '../platforms/index.js';
import type { Connection, Platform, PlatformName, Settings, TestCheck } from '../platforms/platform.js';
import { type RunningSandbox, Sandbox } from './sandbox.js';

type Expected = readonly [result: ConnectionTest['result'], ...checked: TestCheck[]];

/** With the settings of the demo site, which have no test codes. */
const EXPECTED: Readonly<Record<PlatformName, Expected>> = {
  google_ads: ['accepted', 'credentials', 'payload', 'account'],
  meta: ['not_sent', 'credentials', 'pixel'],
  tiktok: ['not_sent', 'credentials'],
  microsoft_ads: ['not_sent', 'credentials'],
  ga4: ['not_sent', 'payload'],
  segment: ['not_sent'],
  linkedin: ['not_sent', 'credentials'],
  pinterest: ['accepted', 'payload', 'credentials', 'account'],
  snapchat: ['accepted', 'payload', 'credentials', 'pixel'],
  reddit: ['not_sent', 'credentials'],
  x: ['not_sent'],
  webhook: ['accepted', 'address'],
};

/** A wrong credential shows only where the platform checks it. */
const CHECKING = PLATFORMS.filter(({ name }) => EXPECTED[name].includes('credentials'));
const CODES: Settings = { test_event_code: 'TEST1', test_id: 't2_test' };

let sandbox: RunningSandbox;
let client: PlatformClient;

beforeEach(async () => {
  sandbox = await new Sandbox().start();
  client = new PlatformClient(true);
});
afterEach(async () => {
  await client.close();
  await sandbox.stop();
});

function connectionOf(platform: Platform, change: Settings = {}): Connection {
  const values = Object.entries({ ...platform.demo, ...change });
  const secretNames = new Set(platform.fields.flatMap(({ name, secret }) => (secret ? [name] : [])));
  return {
    settings: Object.fromEntries(values.filter(([name]) => !secretNames.has(name))),
    secrets: Object.fromEntries(values.filter(([name]) => secretNames.has(name))),
    endpoint: `${sandbox.url}/${platform.name}`,
  };
}

async function run(platform: Platform, change: Settings = {}): Promise<ConnectionTest> {
  const connection = connectionOf(platform, change);
  const store: TokenStore = {
    nowMs: () => Date.now(),
    lock: async () => ({ held: true, release: async () => {} }),
    read: async () => ({ connection, refreshToken: connection.secrets['refresh_token'] ?? '', state: {} }),
    replace: async () => true,
  };
  const owner = { site: 'shop.example', name: platform.name, platform };
  return testConnection(owner, connection, client, new AccessTokens(client, store), Date.now());
}

async function behave(behaviour: object): Promise<void> {
  const response = await fetch(`${sandbox.url}/behave`, { method: 'POST', body: JSON.stringify(behaviour) });
  expect(response.status).toBe(200);
}

/** Requests to the platform, and the conversions in them. */
async function receivedBy({ name }: Platform): Promise<{ calls: number; items: number }> {
  const answer = await fetch(`${sandbox.url}/ledger?platform=${name}`);
  const ledger = (await answer.json()) as Record<string, { default: { calls: number; items: number } } | undefined>;
  return ledger[name]?.default ?? { calls: 0, items: 0 };
}

/** The secret that the request has. */
const secretOf = ({ fields }: Platform) =>
  ['access_token', 'refresh_token', 'pixel_token'].find((name) => fields.some((field) => field.name === name)) ?? '';

describe.each(PLATFORMS)('the test of a connection to $name', (platform) => {
  const [result, ...checked] = EXPECTED[platform.name];

  it('says what was checked, and why no conversion was sent', async () => {
    const tested = await run(platform);
    expect(tested).toMatchObject({ ok: true, sent: result === 'accepted', result, checked });
    expect(tested.reason).toBe(result === 'accepted' ? undefined : platform.untested);
    expect(tested.fix).toBeUndefined();
  });

  it('sends no conversion that could be counted', async () => {
    const { sent, checked } = await run(platform);
    const { calls, items } = await receivedBy(platform);
    expect(calls > 0).toBe(checked.length > 0);
    // GA4 has another address for validation, which records nothing.
    if (!sent && platform.name !== 'ga4') expect(items).toBe(0);
  });
});

describe.each(CHECKING)('the test of a connection to $name', (platform) => {
  it('is refused with a wrong credential, and says what to do without showing it', async () => {
    const secret = `bad-${'s3cret'.repeat(4)}`;
    const tested = await run(platform, { [secretOf(platform)]: secret });
    expect(tested).toMatchObject({ ok: false, status: 'unauthorized', result: 'refused', checked: [] });
    expect(tested.fix).toMatch(/\w+/);
    expect(tested.reason).toMatch(/\w+/);
    expect(JSON.stringify(tested)).not.toContain('s3cret');
  });
});

it.each<PlatformName>(['meta', 'tiktok', 'reddit'])('sends %s a conversion with a test code', async (name) => {
  const platform = platformOf(name) as Platform;
  expect(await run(platform, CODES)).toEqual({
    platform: name,
    ok: true,
    status: 'delivered',
    sent: true,
    result: 'accepted',
    checked: ['payload', 'credentials', 'pixel'],
  });
});

it.each<PlatformName>(['meta', 'tiktok', 'reddit', 'linkedin'])(
  'does not take a token of %s that may not read for a wrong one',
  async (name) => {
    const platform = platformOf(name) as Platform;
    const tested = await run(platform, { access_token: 'forbidden-token' });
    expect(tested).toMatchObject({ ok: true, result: 'not_sent', checked: [] });
    expect(tested.reason).toMatch(/The credentials may not read more \(HTTP \d+\): .+/);
  },
);

it('names a goal for offline conversions that the account does not have', async () => {
  const platform = platformOf('microsoft_ads') as Platform;
  const offline = {
    ...{ mode: 'offline', customer_id: '250000001', account_id: '180000001', client_id: 'client' },
    ...{ client_secret: 'client-secret', refresh_token: 'refresh-token', developer_token: 'developer-token' },
    ...{ 'event.lead': 'Signed contract', 'event.signup': 'Signed contract' },
  };
  expect(await run(platform, { ...offline, 'event.purchase': 'Signed contract' })).toMatchObject({
    ...{ result: 'not_sent', checked: ['credentials', 'account', 'events'] },
  });
  // The sandbox accepts each refresh token once.
  const next = { ...offline, refresh_token: 'another-token' };
  expect(await run(platform, { ...next, 'event.purchase': 'Sales' })).toMatchObject({
    ...{ status: 'misconfigured', result: 'refused', fix: expect.stringMatching(/^Check the settings/) },
    reason: 'HTTP 200: the account has no goal for offline conversions named Sales',
  });
});

it('is refused while the platform answers 401 to everything', async () => {
  await behave({ platform: 'meta', mode: 'unauthorized', call: 'list' });
  expect(await run(platformOf('meta') as Platform)).toMatchObject({ ok: false, result: 'refused' });
});
