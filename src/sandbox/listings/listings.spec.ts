import { SAMPLE_CONVERSIONS } from '../../../test/support/sample-conversions.js';
import { type ListingOptions, listAccount, listingClient } from '../../delivery/connections/account-listing.js';
import type { PlatformClient } from '../../delivery/connections/platform-client.js';
import type { AccountOption } from '../../platforms/account-options.js';
import { verdictOfOne } from '../../platforms/common-verdict.js';
import { PLATFORMS } from '../../platforms/index.js';
import type { Connection, Platform, Settings } from '../../platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../sandbox.js';

interface Account {
  readonly settings?: Settings;
  readonly secrets?: Settings;
  readonly accessToken?: string;
  readonly app?: ListingOptions['app'];
  /** How many options of each setting the sandbox has. */
  readonly counts: Readonly<Record<string, number>>;
}

const TOKEN = { accessToken: 'sandbox-token' };
const APP = { clientId: 'app', clientSecret: 'app-secret' };

const ACCOUNTS: Readonly<Record<string, Account>> = {
  google_ads: { ...TOKEN, counts: { customer_id: 4, event: 4 } },
  meta: { secrets: { access_token: 'token' }, counts: { group: 4, pixel_id: 3 } },
  tiktok: { secrets: { access_token: 'token' }, app: APP, counts: { group: 2, pixel_code: 4 } },
  microsoft_ads: {
    ...TOKEN,
    secrets: { developer_token: 'developer', access_token: 'tag-token' },
    counts: { account_id: 2, tag_id: 2, event: 4 },
  },
  linkedin: { ...TOKEN, counts: { group: 3, event: 3 } },
  pinterest: { secrets: { access_token: 'token' }, counts: { ad_account_id: 3 } },
  snapchat: { secrets: { access_token: 'token' }, counts: { group: 5, pixel_id: 2 } },
  reddit: { secrets: { access_token: 'token' }, counts: { group: 3, pixel_id: 2 } },
};

const LISTING = PLATFORMS.filter(({ listAccount }) => listAccount);

/** Ad accounts of Pinterest have nothing to list. */
const WITH_ACCOUNTS = LISTING.filter(({ name }) => name !== 'pinterest');

let sandbox: RunningSandbox;
let client: PlatformClient;

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  client = listingClient(true);
});
afterAll(async () => {
  await client.close();
  await sandbox.stop();
});

const accountOf = ({ name }: Platform) => ACCOUNTS[name] as Account;

function connectionTo(platform: Platform, change: Partial<Connection> = {}): Connection {
  const { settings = {}, secrets = {} } = accountOf(platform);
  return { settings, secrets, endpoint: `${sandbox.url}/${platform.name}`, ...change };
}

function list(platform: Platform, options: Partial<ListingOptions> = {}, connection = connectionTo(platform)) {
  const { accessToken, app } = accountOf(platform);
  return listAccount(platform, connection, client, { accessToken, app, nowMs: Date.now(), ...options });
}

async function behave(behaviour: object): Promise<void> {
  const response = await fetch(`${sandbox.url}/behave`, { method: 'POST', body: JSON.stringify(behaviour) });
  expect(response.status).toBe(200);
}

/** What a person would set: the first option of each setting, and an event for purchases. */
function chosenFrom(options: readonly AccountOption[]): Record<string, string> {
  const chosen: Record<string, string> = {};
  const isFree = ({ problem }: AccountOption) => problem === undefined;
  const event = options.find(({ setting, suits }) => setting === 'event' && suits === 'purchase');
  for (const option of [...(event ? [event] : []), ...options.filter(isFree)]) {
    const setting = option.setting === 'event' ? 'event.purchase' : option.setting;
    if (setting === undefined || setting in chosen) continue;
    Object.assign(chosen, { [setting]: option.value }, option.also);
  }
  return Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== ''));
}

describe.each(LISTING)('the sandbox of $name', (platform) => {
  it('lists an account, over all pages', async () => {
    const { options, truncated } = await list(platform);
    const counts: Record<string, number> = {};
    for (const { setting = 'group' } of options) counts[setting] = (counts[setting] ?? 0) + 1;
    expect(counts).toEqual(accountOf(platform).counts);
    expect(truncated).toBe(false);
  });

  it('accepts a conversion with the settings that it lists', async () => {
    const { options } = await list(platform);
    const settings = { ...platform.initialSettings, ...chosenFrom(options) };
    const connection = connectionTo(platform, { settings });
    const nowMs = Date.now();
    const payload = platform.payload({ ...SAMPLE_CONVERSIONS['hashed-only'], timeMs: nowMs - 60_000 }, settings);
    if ('skip' in payload) throw new Error(payload.skip);
    const { group } = payload;
    const { accessToken } = accountOf(platform);
    const request = platform.request([JSON.stringify(payload.item)], { connection, group, accessToken, nowMs });
    const response = await client.request(platform, request, connection);
    expect(verdictOfOne(platform.verdict(response, 1), response).kind).toMatch(/^(delivered|accepted)$/);
  });

  it.each([
    ['bad', 'unauthorized'],
    ['forbidden', 'forbidden'],
  ])('refuses a %s token', async (token, kind) => {
    const secrets = { ...accountOf(platform).secrets, access_token: `${token}-token` };
    const accessToken = accountOf(platform).accessToken && `${token}-token`;
    const listed = list(platform, { accessToken }, connectionTo(platform, { secrets }));
    await expect(listed).rejects.toMatchObject({ kind });
  });

  it.each([
    ['throttle', 'throttled'],
    ['server_error', 'unavailable'],
    ['refuse', 'refused'],
    ['html', 'refused'],
    ['truncated', 'refused'],
    ['huge', 'refused'],
  ])('lists nothing while its behaviour is %s', async (mode, kind) => {
    await behave({ platform: platform.name, call: 'list', mode, times: 1 });
    await expect(list(platform)).rejects.toMatchObject({ kind });
    expect((await list(platform)).options.length).toBeGreaterThan(0);
  });
});

describe.each(WITH_ACCOUNTS)('one account of $name', (platform) => {
  it('is listed alone, and the others say that they are not listed', async () => {
    const { options } = await list(platform);
    const isContent = ({ parent, setting }: AccountOption) =>
      parent !== undefined && setting !== undefined && setting !== 'customer_id';
    const owners = [...new Set(options.filter(isContent).map(({ parent }) => parent as string))];
    expect(owners.length).toBeGreaterThan(1);
    const [account, other] = owners.toReversed();
    const { options: some } = await list(platform, { account });
    expect([...new Set(some.filter(isContent).map(({ parent }) => parent))]).toEqual([account]);
    expect(some.find(({ value }) => value === other)).toMatchObject({ unlisted: true });
  });

  it('must be among those that can be listed', async () => {
    await expect(list(platform, { account: 'unknown' })).rejects.toThrow('Leave it out to see them.');
  });
});

describe('the headers that platforms require', () => {
  it.each([
    ['linkedin', '/rest/adAccounts?q=search', { authorization: 'Bearer token' }, 400],
    ['microsoft_ads', '/CustomerManagement/v13/User/Query', { authorization: 'Bearer token' }, 401],
    ['reddit', '/api/v3/me/businesses', { authorization: 'Bearer token', 'user-agent': 'curl/8' }, 429],
    ['pinterest', '/v5/ad_accounts', {}, 401],
    ['google_ads', '/v25/customers:listAccessibleCustomers', {}, 401],
    ['snapchat', '/v1/me/organizations?limit=10', { authorization: 'Bearer token' }, 400],
  ])('are required by the sandbox of %s', async (name, path, headers, status) => {
    const method = name === 'microsoft_ads' ? 'POST' : 'GET';
    const response = await fetch(`${sandbox.url}/${name}${path}`, { method, headers: { ...headers } });
    expect(response.status).toBe(status);
  });

  it('include the manager for a customer below it', async () => {
    const search = (headers: Record<string, string>) =>
      fetch(`${sandbox.url}/google_ads/v25/customers/1000000002/googleAds:search`, {
        method: 'POST',
        headers: { authorization: 'Bearer token', 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ query: 'SELECT conversion_action.id FROM conversion_action WHERE TRUE' }),
      });
    expect((await search({})).status).toBe(403);
    expect((await search({ 'login-customer-id': '1000000001' })).status).toBe(200);
  });
});
