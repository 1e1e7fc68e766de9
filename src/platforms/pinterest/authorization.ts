import { codeGrant, refreshSettings } from '../authorization.js';
import { BASE, TOKEN_PATH } from './client.js';

export const authorization = codeGrant({
  consent: { base: 'https://www.pinterest.com', path: '/oauth/' },
  token: { base: BASE, path: TOKEN_PATH },
  scope: 'ads:read,ads:write',
  basic: true,
  // The refresh token can be renewed without end. Older apps have one that ends after a year without this.
  form: { continuous_refresh: 'true' },
  settings(app, tokens) {
    const settings = refreshSettings(app, tokens);
    return settings && { ...settings, access_token: '' };
  },
});
