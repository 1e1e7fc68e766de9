import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'reddit',
  label: 'Reddit',
  clickIds: { rdt_cid: { number: 29, days: 30, cookie: true } },
  sentClickIds: ['rdt_cid'],
  cookies: { _rdt_uuid: { number: 18, sample: 'sample-rdt' } },
  deduplicatesPixel: true,
} as const satisfies Manifest;
