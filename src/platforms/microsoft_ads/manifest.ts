import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'microsoft_ads',
  label: 'Microsoft Ads',
  about: 'Sales for ads on Bing and in the Microsoft audience network.',
  sufficient: ['email', 'phone', 'click_id'],
  clickIds: { msclkid: { number: 25 } },
  sentClickIds: ['msclkid'],
  cookies: { _uetvid: { number: 16, sample: 'sample-uetvid' } },
  deduplicatesPixel: true,
} as const satisfies Manifest;
