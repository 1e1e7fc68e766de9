import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'tiktok',
  label: 'TikTok',
  about: 'Sales for ads on TikTok, from websites, apps, shops and call centres.',
  sufficient: ['email', 'phone', 'external_id', 'click_id'],
  clickIds: { ttclid: { number: 24, days: 28, cookie: true } },
  sentClickIds: ['ttclid'],
  cookies: { _ttp: { number: 13, sample: 'sample-ttp' } },
  deduplicatesPixel: true,
} as const satisfies Manifest;
