import { type DataSchema, type JsonSchema, type SchemasOf, uuid } from '../log/event-schema.js';
import { PLATFORM_NAMES } from '../platforms/platform.js';
import type { AuthEvent } from './auth-throttle.js';
import type { SiteEvent } from './site.js';
import type { SiteSettings } from './site-settings.js';

const texts: JsonSchema = { type: 'array', items: { type: 'string' } };
const platform = { type: 'string', enum: PLATFORM_NAMES } as const;
const nothing = { type: 'object', properties: {}, required: [], additionalProperties: false } as const;
const ofPlatform = {
  type: 'object',
  properties: { platform },
  required: ['platform'],
  additionalProperties: false,
} as const;
const reason: JsonSchema = { type: 'string', description: 'What the platform said.' };

const settings: DataSchema<Partial<SiteSettings>> = {
  type: 'object',
  description: 'The new value of each setting that changed.',
  properties: {
    dedupWindow: { type: ['string', 'null'], description: "A duration such as 24h; null: the service's own default." },
    botThreshold: { type: 'integer', minimum: 0, maximum: 100 },
    botMode: { type: 'string', enum: ['observe', 'enforce'] },
    consentRequired: { type: 'boolean' },
    withhold: { type: 'string', enum: ['identifiers', 'everything'] },
    country: { type: ['string', 'null'] },
    origins: texts,
    blocked: { ...texts, description: 'Addresses as SHA-256, domains as @example.com.' },
    blockDisposable: { type: 'boolean' },
    blockIps: texts,
    allowIps: texts,
    blockUserAgents: texts,
    blockCountries: texts,
    emailCapture: { type: 'boolean' },
  },
  required: [],
  additionalProperties: false,
};

export const siteSchemas: SchemasOf<SiteEvent> = {
  'site.registered.v1': {
    summary: 'A site exists, with inbound switched off until somebody says otherwise.',
    data: {
      type: 'object',
      properties: { host: { type: 'string' }, aliases: texts },
      required: ['host', 'aliases'],
      additionalProperties: false,
    },
  },
  'site.inbound_enabled.v1': { summary: 'The site takes conversions.', data: nothing },
  'site.inbound_disabled.v1': { summary: 'The site takes no conversions.', data: nothing },
  'site.key_issued.v1': {
    summary: 'An API key was made.',
    data: {
      type: 'object',
      properties: {
        keyId: uuid,
        name: { type: 'string' },
        prefix: { type: 'string', description: 'Its first characters, to tell it from others.' },
        hash: {
          type: 'string',
          pattern: '^[0-9a-f]{64}$',
          description: 'SHA-256 of the key. Left out wherever events are shown.',
        },
        trial: { type: 'boolean' },
      },
      required: ['keyId', 'name', 'prefix', 'hash', 'trial'],
      additionalProperties: false,
    },
  },
  'site.key_revoked.v1': {
    summary: 'An API key counts no more.',
    data: { type: 'object', properties: { keyId: uuid }, required: ['keyId'], additionalProperties: false },
  },
  'site.settings_changed.v1': {
    summary: 'Settings of the site changed.',
    data: { type: 'object', properties: { settings }, required: ['settings'], additionalProperties: false },
  },
  'site.platform_connected.v1': {
    summary: 'A platform was connected, or its connection changed: as it is from now on, whole.',
    data: {
      type: 'object',
      properties: {
        platform,
        settings: { type: 'object', additionalProperties: { type: 'string' }, description: 'Without secrets.' },
        secretNames: { ...texts, description: 'Which secrets it has; their values are in no event.' },
        endpoint: { type: 'string', description: "In place of the platform's own addresses." },
      },
      required: ['platform', 'settings', 'secretNames'],
      additionalProperties: false,
    },
  },
  'site.platform_disconnected.v1': { summary: 'A platform was disconnected.', data: ofPlatform },
  'site.platform_paused.v1': {
    summary: 'Nothing is sent until somebody resumes it. With a reason it was the platform’s doing.',
    data: { ...ofPlatform, properties: { platform, reason } },
  },
  'site.platform_resumed.v1': { summary: 'Sending goes on.', data: ofPlatform },
  'site.platform_parked.v1': {
    summary: 'The platform refuses the credentials.',
    data: { ...ofPlatform, properties: { platform, reason }, required: ['platform', 'reason'] },
  },
  'site.webhook_configured.v1': {
    summary: 'Totals are pushed to this address from now on.',
    data: {
      type: 'object',
      properties: {
        url: { type: 'string' },
        newSecret: { type: 'boolean', description: 'The secret is another one from now on, or the first.' },
      },
      required: ['url', 'newSecret'],
      additionalProperties: false,
    },
  },
  'site.webhook_enabled.v1': { summary: 'Totals are pushed again; what was held goes out.', data: nothing },
  'site.webhook_disabled.v1': {
    summary: 'No totals are pushed. With a reason it was the service’s doing.',
    data: {
      type: 'object',
      properties: { reason: { type: 'string' } },
      required: [],
      additionalProperties: false,
    },
  },
};

const instance: JsonSchema = { type: 'string', description: 'The process that counted it.' };

export const authSchemas: SchemasOf<AuthEvent> = {
  'auth.failed.v1': {
    summary: 'A request came without a key, or with one that is not the site’s.',
    data: {
      type: 'object',
      properties: { reason: { type: 'string', enum: ['missing', 'malformed', 'unknown', 'revoked'] }, instance },
      required: ['reason', 'instance'],
      additionalProperties: false,
    },
  },
  'auth.throttled.v1': {
    summary: 'Further failures past the limit, summed up.',
    data: {
      type: 'object',
      properties: { count: { type: 'integer', minimum: 1 }, instance },
      required: ['count', 'instance'],
      additionalProperties: false,
    },
  },
};
