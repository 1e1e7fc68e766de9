import type { ConnectionName } from '../platforms/connection-name.js';
import type { Settings } from '../platforms/platform.js';
import {
  type DataSchema,
  type JsonSchema,
  connectionName as platform,
  position,
  type SchemasOf,
  strings,
  time,
  uuid,
} from './event-schema.js';

/** Category of the streams that hold the configuration of one site. */
export const SITE = 'site';

/** Settings of a site. Values are stored as they are displayed. */
export interface SiteSettings {
  /** A duration such as `24h`; null: the service's default. */
  readonly dedupWindow: string | null;
  readonly botThreshold: number;
  readonly botMode: 'observe' | 'enforce';
  /** Which conversions of bots are filtered: those without an order, all or none. */
  readonly botFilter: 'leads' | 'all' | 'none';
  readonly consentRequired: boolean;
  readonly withhold: 'identifiers' | 'everything';
  /** Country of phone numbers without a country code. */
  readonly country: string | null;
  readonly origins: readonly string[];
  /** Email addresses as SHA-256, domains as `@example.com`. */
  readonly blocked: readonly string[];
  readonly blockDisposable: boolean;
  readonly blockIps: readonly string[];
  readonly allowIps: readonly string[];
  readonly blockUserAgents: readonly string[];
  readonly blockCountries: readonly string[];
  readonly emailCapture: boolean;
}

/** The lists of the settings whose values name people, or networks of people. */
export const FILTER_LISTS = ['blocked', 'blockIps', 'allowIps'] as const;
export type FilterList = (typeof FILTER_LISTS)[number];

/** `subject`: the hash of an email address, so that the value is erased with the person. */
export interface FilterPersonal {
  readonly subject?: string;
  readonly value?: string;
}

export interface PlatformConnection {
  readonly platform: ConnectionName;
  readonly settings: Settings;
  readonly secretNames: readonly string[];
  readonly endpoint?: string;
  /** The platform had been disconnected: a delivery that is bound to an earlier account is not sent there any more. */
  readonly reconnected?: true;
}

export type ConnectionEvent =
  /** The complete connection from now on: settings, names of secrets, endpoint. */
  | { type: 'site.platform_connected.v1'; data: PlatformConnection }
  | { type: 'site.platform_disconnected.v1'; data: { platform: ConnectionName } }
  /** With a reason the platform caused it, without one an operator did. */
  | { type: 'site.platform_paused.v1'; data: { platform: ConnectionName; reason?: string } }
  | { type: 'site.platform_resumed.v1'; data: { platform: ConnectionName } }
  | { type: 'site.platform_parked.v1'; data: { platform: ConnectionName; reason: string } };

export type WebhookEvent =
  /** `newSecret`: the secret was set or changed. */
  | { type: 'site.webhook_configured.v1'; data: { url: string; newSecret: boolean } }
  | { type: 'site.webhook_enabled.v1'; data: Record<string, never> }
  /** With a reason the service disabled it, without one an operator did. */
  | { type: 'site.webhook_disabled.v1'; data: { reason?: string } };

export type JobKind = 'export' | 'replay' | 'shadow';

/** What a job was to do. Positions as those of reporting windows: `fromPosition` is exclusive, `toPosition` inclusive. */
export interface CreatedJob {
  readonly jobId: string;
  readonly kind: JobKind;
  /** Absent for the deliveries of one conversion. */
  readonly fromPosition?: number | undefined;
  readonly toPosition?: number | undefined;
  /** Of a replay: it only counts. */
  readonly dryRun?: boolean | undefined;
}

export type JobEvent =
  | { type: 'site.job_created.v1'; data: CreatedJob }
  /** Also for a finished job, whose file was deleted. */
  | { type: 'site.job_cancelled.v1'; data: { jobId: string } };

export interface MovedOut {
  readonly to: string;
  readonly epoch: number;
  /** Events of the site in this log, this one included. */
  readonly events: number;
  /** Where the cell accepts requests for the site. */
  readonly address?: string | undefined;
}

export interface MovedIn {
  readonly from: string;
  readonly epoch: number;
  /** As the other log counted them, its `site.moved_out.v1` included. */
  readonly events: number;
  /** Of that event in the other log. */
  readonly position: number;
  /** Of the other log's hash chain, at the seal that covers that event. */
  readonly head: string;
}

/** `epoch`: how often the site has moved, this time included. `to`, `from`: names of cells. */
export type MoveEvent =
  /** Deliveries and pushes wait from here on. Conversions are accepted. */
  | { type: 'site.move_started.v1'; data: { to: string; epoch: number } }
  /** Before the site has left. */
  | { type: 'site.move_cancelled.v1'; data: { to: string; epoch: number } }
  /** From here on this log stores nothing of the site but erasures. */
  | { type: 'site.moved_out.v1'; data: MovedOut }
  /** The first event that this log stores itself of a site that has come from another cell. */
  | { type: 'site.moved_in.v1'; data: MovedIn };

export interface SiteRegistration {
  readonly host: string;
  readonly aliases: readonly string[];
  /** Of a site whose host an earlier site had. Nothing of that one belongs to it. */
  readonly id?: string | undefined;
}

export type SiteEvent =
  /** A site was added. Inbound is disabled until it is enabled. */
  | { type: 'site.registered.v1'; data: SiteRegistration }
  /** All aliases from now on. */
  | { type: 'site.aliases_changed.v1'; data: { aliases: string[] } }
  /** Its keys were revoked and its platforms disconnected before. The host can be registered again, for another site. */
  | { type: 'site.removed.v1'; data: Record<string, never> }
  | { type: 'site.inbound_enabled.v1'; data: Record<string, never> }
  | { type: 'site.inbound_disabled.v1'; data: Record<string, never> }
  /** From here on nothing new is stored for the site, and nothing is sent. */
  | { type: 'site.paused.v1'; data: Record<string, never> }
  | { type: 'site.resumed.v1'; data: Record<string, never> }
  | { type: 'site.key_issued.v1'; data: { keyId: string; name: string; prefix: string; hash: string; trial: boolean } }
  | { type: 'site.key_revoked.v1'; data: { keyId: string } }
  /** A new key, issued just before, replaces this one, which is refused from `expiresAt` on. */
  | { type: 'site.key_rotated.v1'; data: { keyId: string; newKeyId: string; expiresAt: string } }
  /** The new value of each setting that changed. Versions before 0.3 also stored the values of `FILTER_LISTS` in it. */
  | { type: 'site.settings_changed.v1'; data: { settings: Partial<SiteSettings> } }
  | { type: 'site.filter_added.v1'; data: { filterId: string; list: FilterList }; personal: FilterPersonal }
  /** Its value is deleted with the personal part of the event that added it. */
  | { type: 'site.filter_removed.v1'; data: { filterId: string; list: FilterList } }
  | MoveEvent
  | ConnectionEvent
  | WebhookEvent
  | JobEvent;

const empty = { type: 'object', properties: {}, required: [], additionalProperties: false } as const;
const ofPlatform = {
  type: 'object',
  properties: { platform },
  required: ['platform'],
  additionalProperties: false,
} as const;
const cell: JsonSchema = { type: 'string', description: 'Name of the cell (CELL).' };
const epoch: JsonSchema = {
  type: 'integer',
  minimum: 1,
  description: 'How often the site has moved, this time included.',
};
const ofMove = {
  type: 'object',
  properties: { to: cell, epoch },
  required: ['to', 'epoch'],
  additionalProperties: false,
} as const;
const reason: JsonSchema = { type: 'string', description: "The platform's message." };
const filter = {
  type: 'object',
  properties: { filterId: uuid, list: { type: 'string', enum: FILTER_LISTS, description: 'The setting.' } },
  required: ['filterId', 'list'],
  additionalProperties: false,
} as const;
const storedBefore: JsonSchema = {
  ...strings,
  description: 'Empty. Versions before 0.3 stored the values here, which are omitted wherever events are shown.',
};

const settings: DataSchema<Partial<SiteSettings>> = {
  type: 'object',
  description: 'The new value of each setting that changed.',
  properties: {
    dedupWindow: { type: ['string', 'null'], description: "A duration such as 24h; null: the service's default." },
    botThreshold: { type: 'integer', minimum: 0, maximum: 100 },
    botMode: { type: 'string', enum: ['observe', 'enforce'] },
    botFilter: {
      type: 'string',
      enum: ['leads', 'all', 'none'],
      description: 'Which conversions of bots are filtered: those without an order, all or none.',
    },
    consentRequired: { type: 'boolean' },
    withhold: { type: 'string', enum: ['identifiers', 'everything'] },
    country: { type: ['string', 'null'] },
    origins: strings,
    blocked: storedBefore,
    blockDisposable: { type: 'boolean' },
    blockIps: storedBefore,
    allowIps: storedBefore,
    blockUserAgents: strings,
    blockCountries: strings,
    emailCapture: { type: 'boolean' },
  },
  required: [],
  additionalProperties: false,
};

export const siteSchemas: SchemasOf<SiteEvent> = {
  'site.registered.v1': {
    summary: 'A site was added. Inbound is disabled until it is enabled.',
    data: {
      type: 'object',
      properties: {
        host: { type: 'string' },
        aliases: strings,
        id: { ...uuid, description: 'If another site had the host before: nothing of that one belongs to this site.' },
      },
      required: ['host', 'aliases'],
      additionalProperties: false,
    },
  },
  'site.aliases_changed.v1': {
    summary: 'The site has these aliases from now on.',
    data: { type: 'object', properties: { aliases: strings }, required: ['aliases'], additionalProperties: false },
  },
  'site.removed.v1': { summary: 'The site was removed. Its events stay; its host can be added again.', data: empty },
  'site.inbound_enabled.v1': { summary: 'The site accepts conversions.', data: empty },
  'site.inbound_disabled.v1': { summary: 'The site does not accept conversions.', data: empty },
  'site.paused.v1': {
    summary: 'Nothing new is stored for the site: senders are asked to try again later. Nothing is sent.',
    data: empty,
  },
  'site.resumed.v1': { summary: 'The pause of the site has ended.', data: empty },
  'site.move_started.v1': {
    summary: 'The site is about to move to another cell: deliveries and pushes wait, conversions are accepted.',
    data: ofMove,
  },
  'site.move_cancelled.v1': { summary: 'The site stays in this cell. Deliveries and pushes continue.', data: ofMove },
  'site.moved_out.v1': {
    summary: 'The site has left for another cell. This log stores nothing more of it but erasures.',
    data: {
      ...ofMove,
      properties: {
        ...ofMove.properties,
        events: { type: 'integer', minimum: 1, description: 'Events of the site in this log, this one included.' },
        address: { type: 'string', description: 'Where the cell accepts requests for the site.' },
      },
      required: ['to', 'epoch', 'events'],
    },
  },
  'site.moved_in.v1': {
    summary: 'The site has come from another cell, with its events. From here on this cell acts for it.',
    data: {
      type: 'object',
      properties: {
        from: cell,
        epoch,
        events: { type: 'integer', minimum: 1, description: 'Events of the site, as the other log counted them.' },
        position: { ...position, description: 'Of site.moved_out.v1 in the other log.' },
        head: {
          type: 'string',
          pattern: '^[0-9a-f]{64}$',
          description: "Of the other log's hash chain, at the seal that covers that event.",
        },
      },
      required: ['from', 'epoch', 'events', 'position', 'head'],
      additionalProperties: false,
    },
  },
  'site.key_issued.v1': {
    summary: 'An API key was created.',
    data: {
      type: 'object',
      properties: {
        keyId: uuid,
        name: { type: 'string' },
        prefix: { type: 'string', description: 'The first characters of the key, to tell keys apart.' },
        hash: {
          type: 'string',
          pattern: '^[0-9a-f]{64}$',
          description: 'SHA-256 of the key. Omitted wherever events are shown.',
        },
        trial: { type: 'boolean' },
      },
      required: ['keyId', 'name', 'prefix', 'hash', 'trial'],
      additionalProperties: false,
    },
  },
  'site.key_revoked.v1': {
    summary: 'An API key was revoked.',
    data: { type: 'object', properties: { keyId: uuid }, required: ['keyId'], additionalProperties: false },
  },
  'site.key_rotated.v1': {
    summary: 'An API key is replaced by a new one.',
    data: {
      type: 'object',
      properties: {
        keyId: uuid,
        newKeyId: uuid,
        expiresAt: { ...time, description: 'The replaced key is refused from this time on.' },
      },
      required: ['keyId', 'newKeyId', 'expiresAt'],
      additionalProperties: false,
    },
  },
  'site.settings_changed.v1': {
    summary: 'Settings of the site changed.',
    data: { type: 'object', properties: { settings }, required: ['settings'], additionalProperties: false },
  },
  'site.filter_added.v1': {
    summary: 'A value was added to a list of blocked or allowed addresses. It is in the personal part.',
    data: filter,
  },
  'site.filter_removed.v1': { summary: 'A value was removed from such a list, and deleted.', data: filter },
  'site.platform_connected.v1': {
    summary: 'A platform was connected, or its connection changed. Holds the complete connection.',
    data: {
      type: 'object',
      properties: {
        platform,
        settings: { type: 'object', additionalProperties: { type: 'string' }, description: 'Without secrets.' },
        secretNames: { ...strings, description: 'Names of its secrets. Values are in no event.' },
        endpoint: { type: 'string', description: "Base address that replaces the platform's own." },
        reconnected: { type: 'boolean', const: true, description: 'The platform had been disconnected before.' },
      },
      required: ['platform', 'settings', 'secretNames'],
      additionalProperties: false,
    },
  },
  'site.platform_disconnected.v1': { summary: 'A platform was disconnected.', data: ofPlatform },
  'site.platform_paused.v1': {
    summary: 'Deliveries are held until the connection is resumed. With a reason the platform caused it.',
    data: { ...ofPlatform, properties: { platform, reason } },
  },
  'site.platform_resumed.v1': { summary: 'Deliveries continue.', data: ofPlatform },
  'site.platform_parked.v1': {
    summary: 'The platform refuses the credentials or the settings. Deliveries are held until they are fixed.',
    data: { ...ofPlatform, properties: { platform, reason }, required: ['platform', 'reason'] },
  },
  'site.webhook_configured.v1': {
    summary: 'Totals are pushed to this address from now on.',
    data: {
      type: 'object',
      properties: {
        url: { type: 'string' },
        newSecret: { type: 'boolean', description: 'The secret was set or changed.' },
      },
      required: ['url', 'newSecret'],
      additionalProperties: false,
    },
  },
  'site.webhook_enabled.v1': { summary: 'Totals are pushed again, held windows first.', data: empty },
  'site.webhook_disabled.v1': {
    summary: 'Totals are no longer pushed. With a reason the service disabled the webhook.',
    data: {
      type: 'object',
      properties: { reason: { type: 'string' } },
      required: [],
      additionalProperties: false,
    },
  },
  'site.job_created.v1': {
    summary: 'An export, a replay or a shadow replay was requested with the management API.',
    data: {
      type: 'object',
      properties: {
        jobId: uuid,
        kind: { type: 'string', enum: ['export', 'replay', 'shadow'] },
        fromPosition: { ...position, description: 'Exclusive. Absent for the deliveries of one conversion.' },
        toPosition: { ...position, description: 'Inclusive.' },
        dryRun: { type: 'boolean', description: 'Of a replay: it only counts.' },
      },
      required: ['jobId', 'kind'],
      additionalProperties: false,
    },
  },
  'site.job_cancelled.v1': {
    summary: 'A job was cancelled, or the file of a finished one was deleted.',
    data: { type: 'object', properties: { jobId: uuid }, required: ['jobId'], additionalProperties: false },
  },
};
