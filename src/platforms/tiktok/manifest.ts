import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'tiktok',
  label: 'TikTok',
  clickIds: { ttclid: { number: 24, days: 28, cookie: true } },
  sentClickIds: ['ttclid'],
  cookies: { _ttp: { number: 13, sample: 'sample-ttp' } },
  deduplicatesPixel: true,
} as const satisfies Manifest;
