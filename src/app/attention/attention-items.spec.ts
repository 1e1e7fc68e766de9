import { makeCertificate } from '../../../test/support/certificate.js';
import type { SiteSettings } from '../../events/site.events.js';
import type { End } from '../../outbound/reporting-window.js';
import type { SiteConnection } from '../../sites/connections/connection.js';
import type { Site } from '../../sites/site.js';
import { DEFAULT_SITE_SETTINGS } from '../../sites/site-settings.js';
import { healthOf, worstFirst } from './attention-item.js';
import { DEFAULT_RULES } from './rules.js';
import { certificateItems, projectionItems, tokenItems } from './service-items.js';
import { type SiteState, siteItems } from './site-items.js';

const NOW = '2026-06-01T12:00:00.000Z';
const NOW_MS = Date.parse(NOW);
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const HOST = 'shop.example';

const connection = (state: SiteConnection['state'], reason?: string): SiteConnection => ({
  platform: 'meta:second',
  state,
  ...(reason !== undefined && { reason }),
  settings: {},
  secretNames: [],
  version: 1,
  versions: [],
  since: NOW,
});
const site = (parts: Partial<Site> = {}): Site => ({
  id: '01980000-0000-7000-8000-000000000000',
  host: HOST,
  aliases: [],
  inbound: true,
  paused: false,
  sources: [],
  epoch: 0,
  settings: DEFAULT_SITE_SETTINGS,
  filters: [],
  keys: [],
  connections: [],
  createdAt: NOW,
  ...parts,
});
const webhook = {
  url: 'https://crm.example',
  enabled: true,
  since: NOW,
  first: { position: 1, time: NOW },
  position: 1,
  secretSince: NOW,
};
const items = (state: Partial<SiteState>) =>
  siteItems({
    ...{ site: site(), waiting: new Map(), outcomes: new Map(), unknownConsents: new Map(), denials: 0 },
    ...{ unconfirmed: new Map(), unmapped: new Map() },
    ...{ lastPush: undefined, silence: undefined, matchRates: undefined, rules: DEFAULT_RULES, nowMs: NOW_MS },
    ...state,
  });
const waiting = (lateMs: number) => new Map([['meta:second', { count: 84, dueMs: NOW_MS - lateMs }]]);
const outcomes = (delivered: number, failed: number, expired = 0) =>
  new Map([['meta:second', { delivered, failed, accepted: 0, confirmed: 0, rejected: 0, skipped: 1_000, expired }]]);

describe('health', () => {
  const [error, warning] = [{ severity: 'error' }, { severity: 'warning' }] as const;

  it('is that of the worst part', () => {
    expect([healthOf([]), healthOf([warning]), healthOf([warning, error])]).toEqual(['ok', 'warning', 'error']);
  });

  it('has errors before warnings', () => {
    expect(worstFirst([warning, error, warning])).toEqual([error, warning, warning]);
  });
});

describe('siteItems', () => {
  it('is empty for a site without trouble', () => {
    const quiet = site({ connections: [connection('active')], webhook });
    expect(items({ site: quiet, waiting: waiting(10 * MINUTE_MS), outcomes: outcomes(95, 5) })).toEqual([]);
  });

  it('reports a parked connection with what waits for it and how to reconnect', () => {
    const parked = site({ connections: [connection('parked', '190: token revoked')] });
    expect(items({ site: parked, waiting: waiting(DAY_MS) })).toEqual([
      {
        kind: 'connection_parked',
        severity: 'error',
        site: HOST,
        platform: 'meta:second',
        time: NOW,
        count: 84,
        detail: expect.any(String),
        action: { label: 'Reconnect', method: 'PUT', route: '/sites/shop.example/connections/meta%3Asecond' },
      },
    ]);
  });

  it('reports a paused site as a warning, and nothing that waits for its end', () => {
    const paused = site({ paused: true, connections: [connection('active')] });
    expect(items({ site: paused, waiting: waiting(DAY_MS) })).toMatchObject([
      {
        kind: 'site_paused',
        severity: 'warning',
        site: HOST,
        action: { route: '/sites/shop.example/pause', body: { paused: false } },
      },
    ]);
  });

  it('reports a site that another cell has as an error, and nothing else of it', () => {
    const elsewhere = site({
      paused: true,
      connections: [connection('parked')],
      move: { state: 'elsewhere', to: 'north' },
    });
    expect(items({ site: elsewhere })).toMatchObject([
      { kind: 'site_elsewhere', severity: 'error', site: HOST, detail: expect.stringContaining('Cell north has it') },
    ]);
  });

  it('reports a paused connection as a warning, and no disconnected one', () => {
    const paused = site({ connections: [connection('paused')] });
    expect(items({ site: paused })).toMatchObject([{ kind: 'connection_paused', severity: 'warning', count: 0 }]);
    const gone = site({ connections: [{ ...connection('parked'), disconnected: true }] });
    expect(items({ site: gone, waiting: waiting(DAY_MS), outcomes: outcomes(0, 100) })).toEqual([]);
  });

  it('reports an access token that ends within 7 days, or has ended, unless the connection is parked', () => {
    const expiring = (day: string, state: SiteConnection['state'] = 'active') =>
      items({ site: site({ connections: [{ ...connection(state), settings: { access_token_expires: day } }] }) });
    expect(expiring('2026-06-08')).toEqual([
      {
        ...{ kind: 'connection_expiring', severity: 'warning', site: HOST, platform: 'meta:second' },
        time: '2026-06-08T00:00:00.000Z',
        detail: expect.stringContaining('expires'),
        action: { label: 'Reconnect', method: 'PUT', route: '/sites/shop.example/connections/meta%3Asecond' },
      },
    ]);
    expect(expiring('2026-06-01')).toMatchObject([{ severity: 'warning' }]);
    expect(expiring('2026-05-31')).toMatchObject([
      { severity: 'error', detail: expect.stringContaining('has expired') },
    ]);
    expect(expiring('2026-06-09')).toEqual([]);
    expect(expiring('')).toEqual([]);
    expect(expiring('2026-05-31', 'parked')).toMatchObject([{ kind: 'connection_parked' }]);
  });

  it('reports deliveries that no instance attempts', () => {
    const active = site({ connections: [connection('active')] });
    expect(items({ site: active, waiting: waiting(16 * MINUTE_MS) })).toMatchObject([
      { kind: 'deliveries_owed', severity: 'error', count: 84, time: '2026-06-01T11:44:00.000Z' },
    ]);
  });

  it('reports a platform that refuses more than a tenth', () => {
    const active = site({ connections: [connection('active')] });
    expect(items({ site: active, outcomes: outcomes(80, 20) })).toMatchObject([
      {
        kind: 'deliveries_failing',
        count: 20,
        detail: '20 of 100 refused in the last 24 hours.',
        action: { route: '/sites/shop.example/sync-log?connection=meta%3Asecond' },
      },
    ]);
    expect(items({ site: active, outcomes: outcomes(0, 4) })).toEqual([]);
  });

  it('does not take what is not confirmed yet for refused', () => {
    const of = (unconfirmed: number) => {
      const state = { site: site({ connections: [connection('active')] }), outcomes: outcomes(0, 6) };
      return items({ ...state, unconfirmed: new Map([['meta:second', unconfirmed]]) });
    };
    expect(of(200)).toEqual([]);
    expect(of(20)).toMatchObject([
      { kind: 'deliveries_failing', detail: '6 of 26 refused in the last 24 hours, 20 not confirmed yet.' },
    ]);
  });

  it('reports conversions that became too old as an error', () => {
    const active = site({ connections: [connection('active')] });
    expect(items({ site: active, outcomes: outcomes(100, 2, 3) })).toMatchObject([
      { kind: 'deliveries_expired', severity: 'error', platform: 'meta:second', count: 3 },
    ]);
  });

  it('reports events that go nowhere at a platform', () => {
    const events = ['a', 'b', 'c', 'd'].map((event) => ({ event, conversions: 17 }));
    const of = (count: number) =>
      items({
        site: site({ connections: [connection('active')] }),
        unmapped: new Map([['meta:second', events.slice(0, count)]]),
      });
    expect(of(0)).toEqual([]);
    expect(of(2)).toEqual([
      {
        ...{ kind: 'events_unmapped', severity: 'warning', site: HOST, platform: 'meta:second', count: 2 },
        detail: expect.stringContaining('a (17), b (17). Map them'),
        action: { label: 'Map', method: 'PUT', route: '/sites/shop.example/connections/meta%3Asecond' },
      },
    ]);
    expect(of(4)).toMatchObject([{ detail: expect.stringContaining('c (17) and 1 more.') }]);
  });

  it('reports a platform that does not know the consent of people, and what to send', () => {
    const active = site({ connections: [connection('active')] });
    expect(items({ site: active, unknownConsents: new Map([['meta:second', 3]]) })).toEqual([
      {
        ...{ kind: 'consent_unknown', severity: 'warning', site: HOST, platform: 'meta:second', count: 3 },
        detail: expect.stringContaining('Send `consent` with each conversion, at least `ad_user_data`'),
        action: {
          label: 'Show the sync log',
          method: 'GET',
          route: '/sites/shop.example/sync-log?connection=meta%3Asecond',
        },
      },
    ]);
  });

  it('recommends to withhold everything personal where visitors from Europe have not consented', () => {
    const of = (withhold: SiteSettings['withhold'], more: Partial<Site> = { connections: [connection('active')] }) =>
      items({ site: site({ settings: { ...DEFAULT_SITE_SETTINGS, withhold }, ...more }), denials: 7 });
    expect(of('identifiers')).toMatchObject([
      { kind: 'consent_choice', severity: 'warning', count: 7, detail: expect.stringContaining('`personal`') },
    ]);
    for (const none of [of('personal'), of('everything'), of('identifiers', {})]) expect(none).toEqual([]);
    expect(items({ site: site({ connections: [connection('active')] }) })).toEqual([]);
  });

  it('reports a webhook that fails or was disabled by the service', () => {
    const data = { failingSince: NOW, failures: 3, reason: 'status 500' };
    const lastPush = { type: 'outbound.failed.v1', data } as unknown as End;
    expect(items({ site: site({ webhook }), lastPush })).toMatchObject([
      { kind: 'webhook_failing', severity: 'warning', count: 3, detail: 'status 500' },
    ]);
    const disabled = { ...webhook, enabled: false, reason: 'it failed for 5 d' };
    expect(items({ site: site({ webhook: disabled }), lastPush })).toMatchObject([
      {
        kind: 'webhook_disabled',
        severity: 'error',
        action: { method: 'PUT', route: '/sites/shop.example/webhook/enabled', body: { enabled: true } },
      },
    ]);
    expect(items({ site: site({ webhook: { ...webhook, enabled: false } }), lastPush })).toEqual([]);
  });

  it('reports a replaced key until it expires', () => {
    const key = {
      id: 'old',
      name: 'Shop',
      prefix: 'cc_1',
      hash: '',
      trial: false,
      createdAt: NOW,
      status: 'active',
    } as const;
    const replaced = (leftMs: number) => {
      const rotation = { newKeyId: 'new', expiresAt: new Date(NOW_MS + leftMs).toISOString() };
      return items({ site: site({ keys: [key, { ...key, rotation }] }) });
    };
    expect(replaced(DAY_MS)).toMatchObject([
      { kind: 'key_expiring', subject: 'old', time: '2026-06-02T12:00:00.000Z' },
    ]);
    expect(replaced(0)).toEqual([]);
  });
});

describe('tokenItems', () => {
  const token = (leftMs: number | null, revokedAt: Date | null = null) => {
    const expiresAt = leftMs === null ? null : new Date(NOW_MS + leftMs);
    return tokenItems([{ id: 'id', name: 'CI', expiresAt, revokedAt }], DEFAULT_RULES, NOW_MS);
  };

  it('reports tokens that expire within two weeks', () => {
    expect(token(14 * DAY_MS)).toMatchObject([{ kind: 'token_expiring', subject: 'id' }]);
    for (const other of [token(15 * DAY_MS), token(0), token(null), token(DAY_MS, new Date(NOW))])
      expect(other).toEqual([]);
  });
});

describe('certificateItems', () => {
  const { cert } = makeCertificate();
  const madeMs = Date.now();

  it('reports a certificate in the month before it expires, and after that', () => {
    expect(certificateItems(cert, madeMs)).toMatchObject([{ kind: 'certificate_expiring', severity: 'warning' }]);
    expect(certificateItems(cert, madeMs + 2 * DAY_MS)).toMatchObject([{ severity: 'error' }]);
    expect(certificateItems(cert, madeMs - 40 * DAY_MS)).toEqual([]);
    expect(certificateItems(undefined, madeMs)).toEqual([]);
  });
});

describe('projectionItems', () => {
  const status = (state: 'running' | 'parked' | 'rebuilding') => {
    return { name: 'totals', position: 1, head: 8, lag: 7, state, ...(state === 'parked' && { reason: 'event 2' }) };
  };
  const found = (state: 'running' | 'parked' | 'rebuilding', behindMs: number) =>
    projectionItems([status(state)], new Map([['totals', NOW_MS - behindMs]]), NOW_MS);

  it('reports a projection that is parked, or behind for more than a minute', () => {
    expect(found('parked', 0)).toMatchObject([{ kind: 'projection_parked', severity: 'error', count: 7 }]);
    expect(found('running', 61_000)).toMatchObject([{ kind: 'projection_lagging', subject: 'totals' }]);
    expect(found('rebuilding', 61_000)).toMatchObject([{ detail: 'totals is being rebuilt.' }]);
    expect(found('running', 59_000)).toEqual([]);
  });
});
