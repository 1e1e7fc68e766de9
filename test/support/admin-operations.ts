import type { Permission } from '../../src/users/access.js';

/** What belongs to a site that a caller may not see. */
export interface ForeignIds {
  readonly key: string;
  readonly conversion: string;
  readonly event: string;
  readonly export: string;
  readonly dryRun: string;
  readonly signIn: string;
  readonly user: string;
  readonly token: string;
  readonly channel: string;
}

/** The site that the callers may not see, and what its answers could be recognised by. */
export const OTHER = 'secret-shop.example';
export const ALIAS = 'hidden-alias.example';
export const ORDER = 'ORD-SECRET';
export const PIXEL = '987654321098765';
/** Connections of the other site; a caller's own site has `meta` as well. */
export const CONNECTIONS = ['meta', 'meta:hidden', 'meta:new'];

/** Who may call an operation, and what it takes. */
export interface Operation {
  /** `anyone`: also without a session or a token. */
  readonly needs: 'anyone' | Permission;
  /** Not by tokens. */
  readonly by?: 'user';
  /** Concerns the whole installation: not for callers who see some sites only. */
  readonly allSites?: true;
  /** Ends the session that it is called with. */
  readonly endsSession?: true;
  /** Valid bodies: those of one's own site, and those that name something of the other site. */
  readonly bodies?: (ids: ForeignIds) => { readonly own?: readonly object[]; readonly foreign?: readonly object[] };
  /** The answer about what belongs to another site may differ from that about what does not exist. */
  readonly told?: 'That a host is in use cannot be kept from who wants to add it.';
  /** Its bodies are tested by `moves.full-spec.ts`: they need a site that is in another cell. */
  readonly ofMove?: true;
}

const ALERT_RULES = {
  ...{ refusedPercent: 10, silentGaps: 20, matchRateDropPercent: 50 },
  ...{ connectionExpiryDays: 7, tokenExpiryDays: 14 },
};
const DEFINITION = 'name: crm\nurl: https://api.crm.example/events\nbody: { id: /event_id }\n';
const RULES = { botThreshold: 40, blocked: { add: ['@spam.example'] } };
const read: Operation = { needs: 'read' };
const write: Operation = { needs: 'write' };
const readByUser: Operation = { needs: 'read', by: 'user' };
const administer: Operation = { needs: 'administer', by: 'user' };
const move: Operation = { needs: 'move', ofMove: true };

/** Every operation of the management API. One that is missing here fails `admin-access.int-spec.ts`. */
export const OPERATIONS: Readonly<Record<string, Operation>> = {
  'GET /session/options': { needs: 'anyone' },
  'POST /session': { needs: 'anyone', bodies: () => ({ own: [{ email: 'unknown@team.example', password: 'wrong' }] }) },
  'POST /session/password': {
    needs: 'anyone',
    bodies: () => ({
      own: [{ link: 'unknown-unknown-unknown-unknown-unknown-unk', password: 'correct horse battery' }],
    }),
  },
  'DELETE /session': { needs: 'anyone', endsSession: true },
  'GET /session': read,
  'PUT /session/password': {
    ...readByUser,
    bodies: () => ({ own: [{ current: 'wrong', password: 'correct horse battery' }] }),
  },
  'GET /sessions': readByUser,
  'DELETE /sessions': { ...readByUser, endsSession: true },
  'DELETE /sessions/others': { ...readByUser, endsSession: true },

  'GET /users': administer,
  'POST /users': {
    ...administer,
    bodies: () => ({ foreign: [{ email: 'new@team.example', role: 'admin', sites: [OTHER] }] }),
  },
  'GET /users/{id}': administer,
  'PATCH /users/{id}': {
    ...administer,
    bodies: () => ({ foreign: [{ role: 'admin', sites: [OTHER] }, { disabled: true }] }),
  },
  'POST /users/{id}/reset': { ...administer, bodies: () => ({ foreign: [{ revokeTokens: true }] }) },
  'GET /tokens': readByUser,
  'POST /tokens': {
    ...readByUser,
    bodies: () => ({ foreign: [{ name: 'theirs', scopes: ['read'], sites: [OTHER] }] }),
  },
  'DELETE /tokens/{id}': readByUser,
  'GET /audit': administer,
  'GET /oauth-apps': administer,
  'GET /oauth-apps/{platform}': administer,
  'PUT /oauth-apps/{platform}': {
    ...administer,
    bodies: () => ({ foreign: [{ clientId: 'theirs', clientSecret: 'theirs' }] }),
  },
  'DELETE /oauth-apps/{platform}': administer,

  'GET /definitions': read,
  'GET /definitions/{name}': administer,
  'PUT /definitions': { ...administer, bodies: () => ({ own: [{ definition: DEFINITION }] }) },
  'GET /alerts/channels': administer,
  'POST /alerts/channels': {
    ...administer,
    bodies: () => ({
      foreign: [
        {
          ...{ kind: 'webhook', to: 'https://127.0.0.1:1/alerts', sites: [OTHER] },
          ...{ kinds: ['connection_parked'], severity: 'error' },
        },
      ],
    }),
  },
  'PATCH /alerts/channels/{id}': { ...administer, bodies: () => ({ foreign: [{ paused: true }] }) },
  'DELETE /alerts/channels/{id}': administer,
  'POST /alerts/channels/{id}/test': administer,
  'GET /alerts/rules': administer,
  'PATCH /alerts/rules': { ...administer, bodies: () => ({ foreign: [ALERT_RULES] }) },

  'GET /installation': read,
  'GET /cells': read,
  'GET /platforms': read,
  'GET /health': { ...write, allSites: true },
  'GET /projections': { ...write, allSites: true },
  'POST /projections/{name}/rebuild': { ...write, allSites: true },
  'GET /attention': read,
  'GET /totals': read,
  'GET /series': read,
  'GET /sources': read,
  'GET /events': read,
  'GET /jobs': read,
  'GET /jobs/{id}': read,
  'DELETE /jobs/{id}': write,
  'GET /jobs/{id}/file': write,

  'GET /sites': read,
  'POST /sites': { ...write, allSites: true, bodies: () => ({ foreign: [{ host: 'new.example' }] }) },
  'GET /sites/{site}': read,
  'DELETE /sites/{site}': write,
  'GET /sites/{site}/tag': read,
  'GET /sites/{site}/attention': read,
  'GET /sites/{site}/totals': read,
  'GET /sites/{site}/series': read,
  'GET /sites/{site}/sources': read,
  'GET /sites/{site}/match-quality': read,
  'GET /sites/{site}/received-events': read,
  'GET /sites/{site}/unused-fields': read,
  'GET /sites/{site}/events': read,
  'GET /sites/{site}/sync-log': read,
  'GET /sites/{site}/audit': read,
  'PUT /sites/{site}/inbound': { ...write, bodies: () => ({ own: [{ enabled: true }] }) },
  'PUT /sites/{site}/pause': { ...write, bodies: () => ({ own: [{ paused: false }] }) },
  'PATCH /sites/{site}/aliases': {
    ...write,
    told: 'That a host is in use cannot be kept from who wants to add it.',
    bodies: () => ({ own: [{ remove: [ALIAS] }], foreign: [{ add: [ALIAS] }] }),
  },
  'GET /sites/{site}/settings': read,
  'PATCH /sites/{site}/settings': { ...write, bodies: () => ({ own: [RULES] }) },
  'POST /sites/{site}/settings/preview': { ...write, bodies: () => ({ own: [{ botThreshold: 40 }] }) },

  'GET /sites/{site}/inbound-sources': read,
  'PUT /sites/{site}/inbound-sources/{source}': { ...write, bodies: () => ({ own: [{}] }) },
  'POST /sites/{site}/inbound-sources/{source}/rotate': {
    ...write,
    bodies: () => ({ own: [{ secret: 'a-new-secret' }] }),
  },
  'PUT /sites/{site}/inbound-sources/{source}/mapping': { ...write, bodies: () => ({ own: [{ mapping: {} }] }) },
  'POST /sites/{site}/inbound-sources/{source}/try': {
    ...write,
    bodies: () => ({ own: [{ fixture: 'orders-paid' }] }),
  },
  'POST /sites/{site}/inbound-sources/{source}/trial': {
    ...write,
    bodies: () => ({ own: [{ fixture: 'orders-paid' }] }),
  },
  'DELETE /sites/{site}/inbound-sources/{source}': write,
  'GET /sites/{site}/keys': read,
  'POST /sites/{site}/keys': { ...write, bodies: () => ({ own: [{ name: 'Shop' }] }) },
  'POST /sites/{site}/keys/{id}/rotate': { ...write, bodies: () => ({ foreign: [{ overlap: '0s' }] }) },
  'DELETE /sites/{site}/keys/{id}': write,

  'POST /sites/{site}/connections/{connection}/sign-in': { ...write, by: 'user' },
  'GET /sites/{site}/connections/{connection}/sign-in/{id}': readByUser,
  'POST /sites/{site}/connections/{connection}/sign-in/{id}/options': {
    ...write,
    by: 'user',
    bodies: () => ({ foreign: [{ settings: {} }] }),
  },
  'GET /sites/{site}/connections': read,
  'PUT /sites/{site}/connections/{connection}': {
    ...write,
    bodies: (ids) => ({
      own: [{ settings: { 'event.purchase': 'Purchase' } }],
      foreign: [{ signIn: ids.signIn, settings: { pixel_id: '111' } }],
    }),
  },
  'DELETE /sites/{site}/connections/{connection}': write,
  'POST /sites/{site}/connections/{connection}/sandbox': write,
  'POST /sites/{site}/connections/{connection}/pause': write,
  'POST /sites/{site}/connections/{connection}/resume': write,
  'POST /sites/{site}/connections/{connection}/test': write,
  'GET /sites/{site}/connections/{connection}/options': write,
  'POST /sites/{site}/connections/{connection}/preview': {
    ...write,
    bodies: (ids) => ({
      own: [{ sample: true }],
      foreign: [{ conversion: ids.conversion }, { order: ORDER }],
    }),
  },

  'GET /sites/{site}/webhook': read,
  'PUT /sites/{site}/webhook': { ...write, bodies: () => ({ own: [{ url: 'http://127.0.0.1:9/own' }] }) },
  'POST /sites/{site}/webhook/secret': write,
  'PUT /sites/{site}/webhook/enabled': { ...write, bodies: () => ({ own: [{ enabled: false }, { enabled: true }] }) },
  'POST /sites/{site}/webhook/test': write,
  'POST /sites/{site}/webhook/push': write,

  'POST /sites/{site}/test-conversion': { ...write, bodies: () => ({ own: [{ key: 'cc_unknown' }] }) },
  'GET /sites/{site}/conversions': read,
  'POST /sites/{site}/conversions/find': { ...write, bodies: () => ({ own: [{ clickId: 'not-a-known-click' }] }) },
  'GET /sites/{site}/conversions/{id}': read,
  'GET /sites/{site}/conversions/{id}/deliveries/{connection}/request': write,
  'GET /sites/{site}/deliveries/waiting': read,
  'POST /sites/{site}/deliveries/retry': {
    ...write,
    // The answer is the number of deliveries that were found.
    bodies: ({ conversion }) => ({
      own: [
        { order: ORDER },
        { conversion },
        { conversion, connection: 'meta', dryRun: true },
        { conversion, connection: 'meta:hidden', status: ['failed'] },
        { conversion, connection: 'meta', force: true, dryRun: true },
        { platform: 'meta', outcome: 'failed' },
        { conversion, cursor: '1000-1000' },
      ],
    }),
  },
  'GET /sites/{site}/erasures': read,
  'POST /sites/{site}/erasures': {
    needs: 'erase',
    bodies: () => ({ own: [{ email: 'jane@example.com' }, { email: 'jane@example.com', dryRun: true }] }),
  },
  'POST /sites/{site}/jobs': {
    ...write,
    bodies: (ids) => ({
      own: [
        { kind: 'export', format: 'ndjson' },
        { kind: 'export', table: 'conversions', order: ORDER, connection: 'meta', to: '1' },
        { kind: 'shadow', from: '0', to: '1000' },
      ],
      foreign: [
        { kind: 'replay', dryRun: ids.dryRun },
        { kind: 'replay', platform: 'meta', conversion: ids.conversion },
      ],
    }),
  },

  'GET /sites/{site}/arrival': move,
  'POST /sites/{site}/arrival': move,
  'POST /sites/{site}/arrival/events': move,
  'POST /sites/{site}/arrival/erased': move,
  'POST /sites/{site}/arrival/secrets': move,
  'POST /sites/{site}/arrival/leases': move,
  'POST /sites/{site}/arrival/open': move,
};

/** Addresses that browsers navigate to, which the document leaves out. Without a provider, and without a sign-in that was started: */
export const NAVIGATED = [
  ['GET /session/provider', 404],
  ['GET /session/provider/callback', 404],
  ['GET /session/provider/sign-out', 404],
  ['GET /oauth/callback', 303],
] as const;

/** Parameters of a query that name something, with what the other site has. */
export const NAMING_PARAMETERS: Readonly<Record<string, (ids: ForeignIds) => string>> = {
  site: () => OTHER,
  conversion: ({ conversion }) => conversion,
  order: () => ORDER,
  connection: () => 'meta:hidden',
  account: () => PIXEL,
  // A position in the log, or the id of a job before which the page begins.
  cursor: ({ export: job }) => job,
};

/** Parameters of a query and fields of a body that name nothing of a site: filters, positions, times, values and names of the caller's choice. */
export const PLAIN_NAMES: ReadonlySet<string> = new Set([
  ...[
    'fixture',
    'table',
    'delivery',
    'source',
    'mapping',
    'key',
    'overlap',
    'limit',
    'from',
    'to',
    'after',
    'until',
    'last',
    'epoch',
    'missed',
  ],
  ...['type', 'types', 'kind', 'status', 'outcome', 'reason', 'event', 'platform', 'interval', 'timeZone', 'by'],
  ...['name', 'format', 'trial', 'force', 'dedupWindow', 'expiresInDays', 'endpoint', 'secret', 'url', 'settings'],
  ...['add', 'remove', 'hash', 'botThreshold', 'botMode', 'botFilter', 'consentRequired', 'withhold', 'country'],
  ...[
    'origins',
    'blockDisposable',
    'blockIps',
    'allowIps',
    'blockUserAgents',
    'blockCountries',
    'emailCapture',
    'strictFields',
    'currency',
    'identifyBy',
  ],
  // Patterns of the site's own filter. People of the site. Of a new site, and of a first administrator; an account among those that the platform lists to who has signed in there.
  ...['blocked', 'aliases', 'email', 'phone', 'externalId', 'clickId', 'account'],
]);
