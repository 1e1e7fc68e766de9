import { PLATFORM_NAMES, type PlatformName } from '../platforms/platform.js';
import { type JsonSchema, type SchemasOf, strings, time, uuid } from './event-schema.js';

/** Category of the streams about one user of the management API each. They have no email address and no name. */
export const USER = 'user';

type Role = 'admin' | 'operator' | 'analyst';
type Scope = 'read' | 'write' | 'erase' | 'move';
/** Null: all sites. */
type Sites = readonly string[] | null;

export type UserEvent =
  | { type: 'user.added.v1'; data: { role: Role; sites: Sites } }
  /** The new value of what changed. */
  | { type: 'user.changed.v1'; data: { role?: Role; sites?: Sites } }
  /** The user has another name, which no event contains. */
  | { type: 'user.renamed.v1'; data: Record<string, never> }
  | { type: 'user.disabled.v1'; data: Record<string, never> }
  | { type: 'user.enabled.v1'; data: Record<string, never> }
  | { type: 'user.reset.v1'; data: Record<string, never> }
  /** `kept`: the session that is not ended. Without it, none is. */
  | { type: 'user.password_chosen.v1'; data: { digest?: string; kept?: string } }
  | { type: 'user.identity_linked.v1'; data: { digest?: string } }
  | { type: 'user.signed_in.v1'; data: { session: string } }
  | { type: 'user.signed_out.v1'; data: { session: string } }
  | { type: 'user.signed_out_everywhere.v1'; data: { kept?: string } }
  | {
      type: 'user.token_created.v1';
      data: { tokenId: string; scopes: readonly Scope[]; sites: Sites; expiresAt: string | null; digest?: string };
    }
  | { type: 'user.token_revoked.v1'; data: { tokenId: string } }
  | {
      type: 'user.oauth_app_set.v1';
      data: { platform: PlatformName; clientId: string; endpoint?: string | undefined };
    }
  | { type: 'user.oauth_app_removed.v1'; data: { platform: PlatformName } };

const role: JsonSchema = { type: 'string', enum: ['admin', 'operator', 'analyst'] };
const sites: JsonSchema = { ...strings, type: ['array', 'null'], description: 'Hosts; null: all sites.' };
const platform: JsonSchema = { type: 'string', enum: PLATFORM_NAMES };
/** Of what is stored, which is itself a hash of a random secret, or of a password with a random salt: it tells nothing about them. */
const digest = (what: string): JsonSchema => ({
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  description: `SHA-256 of the stored hash of ${what}.`,
});
const session = digest('the session');
const kept = digest('the session that stays');
const account: JsonSchema = {
  type: 'string',
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the stored digest of the account and a random salt beside it, which is not published.',
};
const empty = { type: 'object', properties: {}, required: [], additionalProperties: false } as const;

export const userSchemas: SchemasOf<UserEvent> = {
  'user.added.v1': {
    summary: 'A user of the management API was added.',
    data: { type: 'object', properties: { role, sites }, required: ['role', 'sites'], additionalProperties: false },
  },
  'user.changed.v1': {
    summary: 'The role or the sites of a user changed. Holds the new value of what changed.',
    data: { type: 'object', properties: { role, sites }, required: [], additionalProperties: false },
  },
  'user.renamed.v1': { summary: 'The user has another name. The event does not contain it.', data: empty },
  'user.disabled.v1': { summary: 'The user cannot sign in, and its tokens are refused.', data: empty },
  'user.enabled.v1': { summary: 'The user can sign in again.', data: empty },
  'user.reset.v1': {
    summary: 'The sessions and the password of the user ended, and a link to choose a password was created.',
    data: empty,
  },
  'user.password_chosen.v1': {
    summary: 'The user chose a password, with a link or in place of the one before.',
    data: {
      type: 'object',
      properties: { digest: digest('the password'), kept },
      required: [],
      additionalProperties: false,
    },
  },
  'user.identity_linked.v1': {
    summary: 'An account at the sign-in provider can sign in as the user.',
    data: { type: 'object', properties: { digest: account }, required: [], additionalProperties: false },
  },
  'user.signed_in.v1': {
    summary: 'The user signed in: it has another session.',
    data: { type: 'object', properties: { session }, required: ['session'], additionalProperties: false },
  },
  'user.signed_out.v1': {
    summary: 'The user signed out: a session ended before it expired.',
    data: { type: 'object', properties: { session }, required: ['session'], additionalProperties: false },
  },
  'user.signed_out_everywhere.v1': {
    summary: 'All sessions of the user ended, or all but the one in use.',
    data: { type: 'object', properties: { kept }, required: [], additionalProperties: false },
  },
  'user.token_created.v1': {
    summary: 'The user has another API token.',
    data: {
      type: 'object',
      properties: {
        tokenId: uuid,
        scopes: { type: 'array', items: { type: 'string', enum: ['read', 'write', 'erase', 'move'] } },
        sites,
        expiresAt: { ...time, type: ['string', 'null'] },
        digest: digest('the token'),
      },
      required: ['tokenId', 'scopes', 'sites', 'expiresAt'],
      additionalProperties: false,
    },
  },
  'user.token_revoked.v1': {
    summary: 'An API token of the user was revoked.',
    data: { type: 'object', properties: { tokenId: uuid }, required: ['tokenId'], additionalProperties: false },
  },
  'user.oauth_app_set.v1': {
    summary: 'The user set the OAuth app with which people sign in at a platform. Its secret is not part of the event.',
    data: {
      type: 'object',
      properties: { platform, clientId: { type: 'string' }, endpoint: { type: 'string' } },
      required: ['platform', 'clientId'],
      additionalProperties: false,
    },
  },
  'user.oauth_app_removed.v1': {
    summary: 'The user removed the OAuth app of a platform.',
    data: { type: 'object', properties: { platform }, required: ['platform'], additionalProperties: false },
  },
};
