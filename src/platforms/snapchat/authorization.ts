import { codeGrant, refreshSettings } from '../authorization.js';
import { ACCOUNTS } from './client.js';

export const authorization = codeGrant({
  consent: { base: ACCOUNTS, path: '/login/oauth2/authorize' },
  token: { base: ACCOUNTS, path: '/login/oauth2/access_token' },
  scope: 'snapchat-marketing-api',
  settings(app, tokens) {
    const settings = refreshSettings(app, tokens);
    return settings && { ...settings, access_token: '' };
  },
});
