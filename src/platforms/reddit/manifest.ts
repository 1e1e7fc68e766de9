import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'reddit',
  label: 'Reddit',
  about: 'Sales for ads on Reddit.',
  sufficient: ['email', 'phone', 'external_id', 'click_id'],
  clickIds: { rdt_cid: { number: 29, days: 30, cookie: true } },
  sentClickIds: ['rdt_cid'],
  cookies: { _rdt_uuid: { number: 18, sample: 'sample-rdt' } },
  deduplicatesPixel: true,
} as const satisfies Manifest;
