import { codeGrant, refreshSettings } from '../authorization.js';
import { OAUTH, USER_AGENT } from './client.js';

export const authorization = codeGrant({
  consent: { base: OAUTH, path: '/api/v1/authorize' },
  token: { base: OAUTH, path: '/api/v1/access_token' },
  scope: 'adsread adsconversions',
  // Without it there is no refresh token.
  parameters: { duration: 'permanent' },
  basic: true,
  headers: { 'user-agent': USER_AGENT },
  settings(app, tokens) {
    const settings = refreshSettings(app, tokens);
    return settings && { ...settings, access_token: '' };
  },
});
