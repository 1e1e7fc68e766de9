import type { Site } from '../../sites/site.js';
import { DEFAULT_SITE_SETTINGS } from '../../sites/site-settings.js';
import { isAllowedOrigin } from './allowed-origin.js';

const site = {
  host: 'track.shop.example',
  aliases: ['t.shop.example', 'localhost'],
  settings: { ...DEFAULT_SITE_SETTINGS, origins: ['shop.example', 'xn--mnchen-3ya.example'] },
} as unknown as Site;

describe('isAllowedOrigin', () => {
  it.each([
    'https://track.shop.example',
    'https://t.shop.example',
    'https://shop.example',
    'https://www.shop.example',
    'https://SHOP.example:8443',
    'https://münchen.example',
    'http://localhost:3000',
    'http://app.localhost',
  ])('allows %s', (origin) => {
    expect(isAllowedOrigin(origin, site)).toBe(true);
  });

  it.each([
    undefined,
    '',
    'null',
    'http://shop.example',
    'https://evilshop.example',
    'https://shop.example.evil.example',
    'https://shop.example@evil.example',
    'https://evil.example/shop.example',
    'https://evil.example?.shop.example',
    'ftp://shop.example',
    'https://shop.example, https://evil.example',
    `https://${'a'.repeat(400)}.shop.example`,
  ])('rejects %s', (origin) => {
    expect(isAllowedOrigin(origin, site)).toBe(false);
  });
});
