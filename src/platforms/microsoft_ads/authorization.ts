import { codeGrant, refreshSettings } from '../authorization.js';
import { SCOPE } from './client.js';
import { isOffline } from './settings.js';

const LOGIN = 'https://login.microsoftonline.com';

/** For offline conversions. The token of the UET Conversions API is made on the page of the tag, not by a sign-in. */
export const authorization = codeGrant({
  consent: { base: LOGIN, path: '/common/oauth2/v2.0/authorize' },
  token: { base: LOGIN, path: '/common/oauth2/v2.0/token' },
  scope: SCOPE,
  pkce: true,
  form: { scope: SCOPE },
  settings(app, tokens) {
    const settings = refreshSettings(app, tokens);
    return settings && { ...settings, mode: 'offline' };
  },
  problem: (settings) =>
    isOffline(settings)
      ? undefined
      : 'mode=capi uses the token of the UET tag, which no sign-in gives: set access_token, or use mode=offline',
});
