import { codeGrant, refreshSettings } from '../authorization.js';

/** Scopes of the Data Manager API, and of the Google Ads API, which lists the account's conversion actions. */
const SCOPES = ['https://www.googleapis.com/auth/datamanager', 'https://www.googleapis.com/auth/adwords'];

export const authorization = codeGrant({
  consent: { base: 'https://accounts.google.com', path: '/o/oauth2/v2/auth' },
  token: { base: 'https://oauth2.googleapis.com', path: '/token' },
  scope: SCOPES.join(' '),
  pkce: true,
  // Google gives a refresh token only for offline access, and again only if the person is asked again.
  parameters: { access_type: 'offline', prompt: 'consent' },
  settings: refreshSettings,
});
