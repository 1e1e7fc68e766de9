import type { Site } from '../../sites/site.js';
import { requireValidSettings } from './run-shadow.js';

const connection = (platform: string) => ({
  platform,
  settings: { pixel_id: '123456789012345' },
  secretNames: ['access_token'],
});
const SITE = { host: 'shop.example', connections: ['meta', 'webhook'].map(connection) } as unknown as Site;

describe('the settings of a shadow replay', () => {
  it.each([
    ['a secret', { meta: { access_token: 'a-very-secret-token' } }, 'meta: access_token'],
    ['an address, which may contain one', { webhook: { url: 'https://user:pw@hook.example' } }, 'webhook: url'],
  ])('are refused with %s: they are stored and shown', (_, settings, named) => {
    const check = () => requireValidSettings(SITE, settings);
    expect(check).toThrow(`${named} does not change what would be sent. Leave it out.`);
  });

  it('may be any other setting that the connection can have', () => {
    expect(() => requireValidSettings(SITE, { meta: { events: 'lead' } })).not.toThrow();
    expect(() => requireValidSettings(SITE, { meta: { unheard_of: '1' } })).toThrow('unheard_of');
  });
});
