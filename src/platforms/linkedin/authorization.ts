import { codeGrant, refreshSettings } from '../authorization.js';
import { expiryDate } from '../credentials.js';

const LINKEDIN = 'https://www.linkedin.com';

export const authorization = codeGrant({
  consent: { base: LINKEDIN, path: '/oauth/v2/authorization' },
  token: { base: LINKEDIN, path: '/oauth/v2/accessToken' },
  scope: 'rw_conversions r_ads',
  // LinkedIn gives refresh tokens to approved partners only. Without one the access token is valid for 60 days.
  settings(app, tokens, nowMs) {
    const refreshed = refreshSettings(app, tokens);
    if (refreshed) return { ...refreshed, access_token: '', access_token_expires: '' };
    const { accessToken, lifetimeMs } = tokens;
    return {
      access_token: accessToken,
      access_token_expires: expiryDate(lifetimeMs, nowMs),
      client_id: '',
      client_secret: '',
      refresh_token: '',
    };
  },
});
