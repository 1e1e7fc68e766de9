import { withQuery } from '../authorization.js';
import { at, textAt } from '../common-verdict.js';
import { type Authorization, endpointUrl } from '../platform.js';
import { BASE } from './client.js';
import { API_VERSION } from './settings.js';

/** TikTok has parameter names of its own, and no scopes: the app has them. The token is valid until it is revoked. */
export const authorization: Authorization = {
  pkce: false,
  codeParameter: 'auth_code',
  consentUrl: (app, { redirectUri, state }) =>
    withQuery(endpointUrl(app, BASE, '/portal/auth'), { app_id: app.clientId, state, redirect_uri: redirectUri }),
  exchange: (app, { code }) => ({
    method: 'POST',
    url: endpointUrl(app, BASE, `/open_api/${API_VERSION}/oauth2/access_token/`),
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ app_id: app.clientId, secret: app.clientSecret, auth_code: code }),
  }),
  // The status of an answer says nothing: an error is in `code`, and has no token.
  tokens(json) {
    const accessToken = at(json, 'code') === 0 ? textAt(json, 'data', 'access_token') : undefined;
    return accessToken ? { accessToken } : undefined;
  },
  settings: (_app, { accessToken }) => ({ access_token: accessToken }),
};
