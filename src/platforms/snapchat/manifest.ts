import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'snapchat',
  label: 'Snapchat',
  about: 'Sales for ads on Snapchat, deduplicated against the Snap pixel.',
  sufficient: ['email', 'phone'],
  clickIds: { sccid: { number: 28, cookie: true } },
  sentClickIds: ['ScCid'],
  cookies: { _scid: { number: 17, sample: 'sample-scid' } },
  deduplicatesPixel: true,
} as const satisfies Manifest;
