import * as z from 'zod/mini';
import { derivedUuid } from '../kernel/uuid.js';
import {
  type DataOf,
  described,
  type EventsOf,
  event,
  integerFrom,
  personal,
  connectionName as platform,
  position,
  recordOf,
  sha256,
  strings,
  text,
  time,
  uuid,
  type ValueOf,
} from './event-declaration.js';

/** Category of the streams that hold the configuration of one site. */
export const SITE = 'site';

/** Derived from the host, so concurrent additions of one host write to the same stream and only one succeeds. */
export function streamIdOf(host: string): string {
  return derivedUuid(`site ${host}`);
}

const storedBefore = described(
  strings,
  'Empty. Versions before 0.3 stored the values here, which are omitted wherever events are shown.',
);
/** Values are stored as they are displayed. */
const settings = z.strictObject({
  dedupWindow: described(z.nullable(z.string()), "A duration such as 24h; null: the service's default."),
  botThreshold: z.int().check(z.minimum(0), z.maximum(100)),
  botMode: z.enum(['observe', 'enforce']),
  botFilter: described(
    z.enum(['leads', 'all', 'none']),
    'Which conversions of bots are filtered: those without an order, all or none.',
  ),
  consentRequired: z.boolean(),
  withhold: z.enum(['identifiers', 'personal', 'everything']),
  // Country of phone numbers that have no country code.
  country: z.nullable(z.string()),
  origins: strings,
  // Email addresses as SHA-256, domains as `@example.com`.
  blocked: storedBefore,
  blockDisposable: z.boolean(),
  blockIps: storedBefore,
  allowIps: storedBefore,
  blockUserAgents: strings,
  blockCountries: strings,
  emailCapture: z.boolean(),
  identifyBy: described(
    z.enum(['email', 'any']),
    'What a conversion must state about its person: an email, or any of email, phone, external id and click id.',
  ),
  strictFields: described(
    z.boolean(),
    'A conversion with an optional field that is not valid is refused. Otherwise the field is dropped.',
  ),
  currency: described(z.nullable(z.string()), 'What a value without a currency is in, ISO 4217; null: USD.'),
});
/** Settings of a site. */
export type SiteSettings = ValueOf<typeof settings>;

/** The lists of the settings whose values name people, or networks of people. */
export const FILTER_LISTS = ['blocked', 'blockIps', 'allowIps'] as const;
export type FilterList = (typeof FILTER_LISTS)[number];

/** `subject`: the hash of an email address, so that the value is erased with the person. */
export interface FilterPersonal {
  readonly subject?: string;
  readonly value?: string;
}

const filter = { filterId: uuid, list: described(z.enum(FILTER_LISTS), 'The setting.') };

const connection = {
  platform,
  settings: described(recordOf(z.string()), 'Without secrets.'),
  secretNames: described(strings, 'Names of its secrets. Values are in no event.'),
  endpoint: z.exactOptional(text("Base address that replaces the platform's own.")),
  // A delivery that is bound to an earlier account is not sent there any more.
  reconnected: z.exactOptional(described(z.literal(true), 'The platform had been disconnected before.')),
};
export type PlatformConnection = DataOf<typeof connection>;

const reason = text("The platform's message.");
const connectionEvents = {
  'site.platform_connected.v1': event(
    'A platform was connected, or its connection changed. Holds the complete connection.',
    connection,
  ),
  'site.platform_disconnected.v1': event('A platform was disconnected.', { platform }),
  'site.platform_paused.v1': event(
    'Deliveries are held until the connection is resumed. With a reason the platform caused it.',
    { platform, reason: z.exactOptional(reason) },
  ),
  'site.platform_resumed.v1': event('Deliveries continue.', { platform }),
  'site.platform_parked.v1': event(
    'The platform refuses the credentials or the settings. Deliveries are held until they are fixed.',
    { platform, reason },
  ),
};
export type ConnectionEvent = EventsOf<typeof connectionEvents>;

const rules = recordOf(recordOf(z.string()));
const source = {
  source: text('Name of the source, such as shopify.'),
  keyId: described(uuid, 'Id of the connection, a part of the address that the sender posts to.'),
  mapping: described(rules, 'Changes of the rules of the source: expressions by topic and field.'),
  // Values are in no event.
  hasSecret: described(z.boolean(), 'The secret by which deliveries are verified is set.'),
  previousUntil: z.exactOptional(described(time, 'Until then the secret before this one is accepted, too.')),
};
export type ConnectedSource = DataOf<typeof source>;

const sourceEvents = {
  'site.source_connected.v1': event(
    'A source was connected, or its connection changed. Holds the complete connection.',
    source,
  ),
  'site.source_disconnected.v1': event('A source was disconnected: its deliveries are refused.', {
    source: source.source,
  }),
};
export type SourceEvent = EventsOf<typeof sourceEvents>;

const webhookEvents = {
  'site.webhook_configured.v1': event('Totals are pushed to this address from now on.', {
    url: z.string(),
    newSecret: described(z.boolean(), 'The secret was set or changed.'),
  }),
  'site.webhook_enabled.v1': event('Totals are pushed again, held windows first.', {}),
  'site.webhook_disabled.v1': event('Totals are no longer pushed. With a reason the service disabled the webhook.', {
    reason: z.exactOptional(z.string()),
  }),
};
export type WebhookEvent = EventsOf<typeof webhookEvents>;

export const JOB_KINDS = ['export', 'replay', 'shadow'] as const;
const job = {
  jobId: uuid,
  kind: z.enum(JOB_KINDS),
  fromPosition: z.optional(described(position, 'Exclusive. Absent for the deliveries of one conversion.')),
  toPosition: z.optional(described(position, 'Inclusive.')),
  dryRun: z.optional(described(z.boolean(), 'Of a replay: it only counts.')),
};
export type CreatedJob = DataOf<typeof job>;

const jobEvents = {
  'site.job_created.v1': event('An export, a replay or a shadow replay was requested with the management API.', job),
  'site.job_cancelled.v1': event('A job was cancelled, or the file of a finished one was deleted.', { jobId: uuid }),
};
export type JobEvent = EventsOf<typeof jobEvents>;

const cell = text('Name of the cell (CELL).');
const epoch = described(integerFrom(1), 'How often the site has moved, this time included.');
const movedOut = {
  to: cell,
  epoch,
  events: described(integerFrom(1), 'Events of the site in this log, this one included.'),
  address: z.optional(text('Where the cell accepts requests for the site.')),
  positions: z.optional(
    described(
      z.array(position),
      'Of the events that versions before 0.3 stored of the site itself, by version: their conversions refer to them.',
    ),
  ),
};
export type MovedOut = DataOf<typeof movedOut>;
const movedIn = {
  from: cell,
  epoch,
  // Its `site.moved_out.v1` included.
  events: described(integerFrom(1), 'Events of the site, as the other log counted them.'),
  position: described(position, 'Of site.moved_out.v1 in the other log.'),
  after: described(position, 'In this log: the events that came with the site follow it.'),
  head: described(sha256, "Of the other log's hash chain, at the seal that covers that event."),
};
export type MovedIn = DataOf<typeof movedIn>;

const moveEvents = {
  'site.move_started.v1': event('The site is about to move to another cell: it is paused.', { to: cell, epoch }),
  'site.move_cancelled.v1': event(
    'The site stays in this cell. It is paused no longer, unless an operator had paused it.',
    { to: cell, epoch },
  ),
  'site.moved_out.v1': event(
    'The site has left for another cell. This log stores nothing more of it but erasures.',
    movedOut,
  ),
  'site.moved_in.v1': event(
    'The site has come from another cell, with its events. From here on this cell acts for it.',
    movedIn,
  ),
};
export type MoveEvent = EventsOf<typeof moveEvents>;

export const siteEvents = {
  'site.registered.v1': event('A site was added. Inbound is disabled until it is enabled.', {
    host: z.string(),
    aliases: strings,
    id: z.optional(described(uuid, 'If another site had the host before: nothing of that one belongs to this site.')),
  }),
  'site.aliases_changed.v1': event('The site has these aliases from now on.', { aliases: strings }),
  // Its keys were revoked and its platforms disconnected before. The host can be registered again, for another site.
  'site.removed.v1': event('The site was removed. Its events stay; its host can be added again.', {}),
  'site.inbound_enabled.v1': event('The site accepts conversions.', {}),
  'site.inbound_disabled.v1': event('The site does not accept conversions.', {}),
  'site.paused.v1': event(
    'Nothing new is stored for the site: senders are asked to try again later. Nothing is sent.',
    {},
  ),
  'site.resumed.v1': event('The pause of the site has ended.', {}),
  ...moveEvents,
  'site.key_issued.v1': event('An API key was created.', {
    keyId: uuid,
    name: z.string(),
    prefix: text('The first characters of the key, to tell keys apart.'),
    hash: described(sha256, 'SHA-256 of the key. Omitted wherever events are shown.'),
    trial: z.boolean(),
  }),
  'site.key_revoked.v1': event('An API key was revoked.', { keyId: uuid }),
  // The new one was issued just before.
  'site.key_rotated.v1': event('An API key is replaced by a new one.', {
    keyId: uuid,
    newKeyId: uuid,
    expiresAt: described(time, 'The replaced key is refused from this time on.'),
  }),
  'site.settings_changed.v1': event('Settings of the site changed.', {
    settings: described(
      z.partial(settings) as z.ZodMiniType<Partial<SiteSettings>>,
      'The new value of each setting that changed.',
    ),
  }),
  'site.filter_added.v1': event(
    'A value was added to a list of blocked or allowed addresses. It is in the personal part.',
    filter,
    personal<FilterPersonal>(),
  ),
  // Its value is deleted with the personal part of the event that added it.
  'site.filter_removed.v1': event('A value was removed from such a list, and deleted.', filter),
  ...connectionEvents,
  ...sourceEvents,
  ...webhookEvents,
  ...jobEvents,
};
export type SiteEvent = EventsOf<typeof siteEvents>;
