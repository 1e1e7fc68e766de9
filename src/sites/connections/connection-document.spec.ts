import type { ConnectionName } from '../../platforms/connection-name.js';
import { PLATFORM_NAMES, type PlatformName } from '../../platforms/platform.js';
import type { SiteConnection } from './connection.js';
import { connectionDocument, listedConnections } from './connection-document.js';

const SINCE = '2026-03-01T10:00:00.000Z';

function connection(platform: ConnectionName, changes: Partial<SiteConnection> = {}): SiteConnection {
  return {
    platform,
    state: 'active',
    settings: {},
    secretNames: ['access_token'],
    version: 1,
    versions: [],
    since: SINCE,
    ...changes,
  };
}

function listed(name: ConnectionName, changes?: Partial<SiteConnection>) {
  const list = listedConnections({ host: 'shop.example', connections: [connection(name, changes)] });
  return list.find(({ platform }) => platform === name) as (typeof list)[0];
}

describe('listedConnections', () => {
  it('has every platform, and further connections after the one without a name', () => {
    const connections = [
      connection('x'),
      connection('meta:b', { state: 'parked' }),
      connection('meta:a'),
      connection('tiktok:gone', { disconnected: true }),
    ];
    const list = listedConnections({ host: 'shop.example', connections });
    expect(list.map(({ platform }) => platform)).toEqual([
      ...PLATFORM_NAMES.slice(0, 2),
      'meta:a',
      'meta:b',
      ...PLATFORM_NAMES.slice(2),
    ]);
    expect(list.filter(({ connected }) => connected).map(({ platform }) => platform)).toEqual([
      'meta:a',
      'meta:b',
      'x',
    ]);
    expect(list.find(({ platform }) => platform === 'meta:b')?.next).toContain(
      '"platforms resume meta:b --site shop.example"',
    );
  });

  it.each([
    ['google_ads', { state: 'parked', reason: 'the token endpoint returned invalid_grant' }, true],
    ['google_ads:second', { state: 'parked', reason: 'OAUTH_TOKEN_REVOKED: …' }, true],
    ['pinterest', { state: 'parked', reason: 'HTTP 401' }, true],
    ['google_ads', { state: 'parked', reason: 'INVALID_CONVERSION_ACTION_ID: …' }, undefined],
    ['google_ads', { state: 'active' }, undefined],
    ['google_ads', { state: 'paused' }, undefined],
    ['x', { state: 'parked', reason: 'HTTP 401' }, undefined],
    ['microsoft_ads', { state: 'parked', reason: 'HTTP 401' }, undefined],
    ['microsoft_ads', { state: 'parked', reason: 'HTTP 401', settings: { mode: 'offline' } }, true],
  ] as const)('says whether a sign-in renews the credentials of %s in %j', (name, changes, expected) => {
    expect(listed(name, changes).needsReconnection).toBe(expected);
  });

  it('contains the settings, the endpoint and the names of the secrets', () => {
    expect(listed('meta', { settings: { pixel_id: '123' } })).toEqual({
      platform: 'meta',
      connected: true,
      state: 'active',
      settings: { pixel_id: '123' },
      endpoint: 'https://graph.facebook.com',
      secrets: ['access_token'],
      since: SINCE,
      fields: expect.any(Array),
    });
    expect(listed('meta', { disconnected: true })).toEqual({
      platform: 'meta',
      connected: false,
      settings: {},
      fields: expect.any(Array),
    });
  });

  it.each<[PlatformName, Partial<SiteConnection>, string]>([
    ['google_ads', {}, 'https://datamanager.googleapis.com'],
    ['google_ads', { settings: { mode: 'upload' } }, 'https://googleads.googleapis.com'],
    ['microsoft_ads', {}, 'https://capi.uet.microsoft.com'],
    ['microsoft_ads', { settings: { mode: 'offline' } }, 'https://campaign.api.bingads.microsoft.com'],
    ['webhook', { settings: { url: 'https://crm.example/hooks/***' } }, 'https://crm.example/hooks/***'],
    ['meta', { endpoint: 'https://gateway.example/capi' }, 'https://gateway.example/capi'],
    ['meta', { endpoint: 'https://gateway.example/t/8f3kQ2-a91Lx' }, 'https://gateway.example/t/***'],
  ])('shows where %s sends with %j', (name, changes, endpoint) => {
    expect(listed(name, changes).endpoint).toBe(endpoint);
  });

  it.each<[PlatformName, string, RegExp]>([
    [
      'meta',
      '190/463 The access token is invalid or has expired',
      /^Generate a new access token .* set it as access_token\. /,
    ],
    ['meta', '294 Managing advertisements requires …', /^Give the user of the token access to the pixel /],
    [
      'google_ads',
      'INVALID_CONVERSION_ACTION_ID at destinations[0]',
      /^Set event\.<name> to the id of a conversion action /,
    ],
    ['google_ads', 'CUSTOMER_NOT_ALLOWLISTED_FOR_THIS_FEATURE', /set mode=data_manager\. /],
    ['tiktok', '41001 The interface is offline.', /^Set a current api_version\. /],
    ['x', 'ROUTE_NOT_FOUND: The route is not known', /^Check api_version and the endpoint\. /],
    ['pinterest', 'HTTP 401', /^Fix the credentials \(access_token\) or the account that the reason is about\. /],
  ])('tells what to do about %s that is parked with "%s"', (name, reason, next) => {
    const { next: step, reason: words } = listed(name, { state: 'parked', reason });
    expect(words).toBe(reason);
    expect(step).toMatch(next);
    expect(step).toContain(`"platforms connect ${name} --site shop.example --set <name>=<value>"`);
    expect(step).toMatch(new RegExp(`"platforms resume ${name} --site shop\\.example" does\\.$`));
  });

  it('tells how to resume a paused connection', () => {
    expect(listed('meta', { state: 'paused' }).next).toBe(
      '"platforms resume meta --site shop.example" resumes sending.',
    );
  });
});

describe('connectionDocument', () => {
  it('redacts what may be a token in the endpoint, and has none without one', () => {
    expect(connectionDocument(connection('meta', { endpoint: 'https://gateway.example/8f3kQ2-a91Lx' })).endpoint).toBe(
      'https://gateway.example/***',
    );
    expect(connectionDocument(connection('meta'))).not.toHaveProperty('endpoint');
  });
});
