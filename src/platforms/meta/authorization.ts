import { codeGrant, formPost } from '../authorization.js';
import { expiryDate } from '../credentials.js';
import { type Authorization, endpointUrl } from '../platform.js';
import { BASE } from './client.js';
import { API_VERSION } from './settings.js';

const TOKEN_PATH = `/${API_VERSION}/oauth/access_token`;

/** Meta has no refresh tokens: the person signs in again before the long-lived token ends, after about 60 days. */
export const authorization: Authorization = {
  ...codeGrant({
    consent: { base: 'https://www.facebook.com', path: `/${API_VERSION}/dialog/oauth` },
    token: { base: BASE, path: TOKEN_PATH },
    scope: 'ads_management,business_management',
    settings: (_app, { accessToken, lifetimeMs }, nowMs) => ({
      access_token: accessToken,
      access_token_expires: expiryDate(lifetimeMs, nowMs),
    }),
  }),
  extend: (app, accessToken) =>
    formPost(endpointUrl(app, BASE, TOKEN_PATH), {
      grant_type: 'fb_exchange_token',
      client_id: app.clientId,
      client_secret: app.clientSecret,
      fb_exchange_token: accessToken,
    }),
};
