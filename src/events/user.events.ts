import * as z from 'zod/mini';
import { PLATFORM_NAMES } from '../platforms/platform.js';
import { described, type EventsOf, event, sha256, strings, time, uuid } from './event-declaration.js';

/** Category of the streams about one user of the management API each. They have no email address and no name. */
export const USER = 'user';

const role = z.enum(['admin', 'operator', 'analyst']);
const sites = described(z.nullable(strings), 'Hosts; null: all sites.');
const platform = z.enum(PLATFORM_NAMES);
/** Digest of a stored hash of a random secret, or of a password with a random salt: it tells nothing about them. */
const digest = (what: string) => described(sha256, `SHA-256 of the stored hash of ${what}.`);
/** Without it no session is kept. */
const kept = z.exactOptional(digest('the session that stays'));

export const userEvents = {
  'user.added.v1': event('A user of the management API was added.', { role, sites }),
  'user.changed.v1': event('The role or the sites of a user changed. Holds the new value of what changed.', {
    role: z.exactOptional(role),
    sites: z.exactOptional(sites),
  }),
  'user.renamed.v1': event('The user has another name. The event does not contain it.', {}),
  'user.disabled.v1': event('The user cannot sign in, and its tokens are refused.', {}),
  'user.enabled.v1': event('The user can sign in again.', {}),
  'user.reset.v1': event(
    'The sessions and the password of the user ended, and a link to choose a password was created.',
    {},
  ),
  'user.password_chosen.v1': event('The user chose a password, with a link or in place of the one before.', {
    digest: z.exactOptional(digest('the password')),
    kept,
  }),
  'user.identity_linked.v1': event('An account at the sign-in provider can sign in as the user.', {
    digest: z.exactOptional(
      described(
        sha256,
        'SHA-256 of the stored digest of the account and a random salt beside it, which is not published.',
      ),
    ),
  }),
  'user.signed_in.v1': event('The user signed in: it has another session.', { session: digest('the session') }),
  'user.signed_out.v1': event('The user signed out: a session ended before it expired.', {
    session: digest('the session'),
  }),
  'user.signed_out_everywhere.v1': event('All sessions of the user ended, or all but the one in use.', { kept }),
  'user.token_created.v1': event('The user has another API token.', {
    tokenId: uuid,
    scopes: z.array(z.enum(['read', 'write', 'erase', 'move'])),
    sites,
    expiresAt: z.nullable(time),
    digest: z.exactOptional(digest('the token')),
  }),
  'user.token_revoked.v1': event('An API token of the user was revoked.', { tokenId: uuid }),
  'user.oauth_app_set.v1': event(
    'The user set the OAuth app with which people sign in at a platform. Its secret is not part of the event.',
    { platform, clientId: z.string(), endpoint: z.optional(z.string()) },
  ),
  'user.oauth_app_removed.v1': event('The user removed the OAuth app of a platform.', { platform }),
};
export type UserEvent = EventsOf<typeof userEvents>;
