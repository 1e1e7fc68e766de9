import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'pinterest',
  label: 'Pinterest',
  about: 'Sales for ads on Pinterest, deduplicated against the Pinterest tag.',
  sufficient: ['email'],
  clickIds: { epik: { number: 30, cookie: true } },
  sentClickIds: ['epik'],
  deduplicatesPixel: true,
} as const satisfies Manifest;
