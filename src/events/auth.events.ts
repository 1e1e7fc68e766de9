import * as z from 'zod/mini';
import { type EventsOf, event, integerFrom, text, type ValueOf } from './event-declaration.js';

/** Category of the streams that hold failed authentication attempts of one site. */
export const AUTH = 'auth';

const reason = z.enum(['missing', 'malformed', 'unknown', 'revoked', 'expired', 'signature']);
export type AuthFailure = ValueOf<typeof reason>;

const instance = text('The instance that counted the failure.');

export const authEvents = {
  // `instance` has counted it already.
  'auth.failed.v1': event('A request had no key, or one that does not belong to the site.', { reason, instance }),
  // Since the last such event.
  'auth.throttled.v1': event('Number of failures past the limit.', { count: integerFrom(1), instance }),
};
export type AuthEvent = EventsOf<typeof authEvents>;
