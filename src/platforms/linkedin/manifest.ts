import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'linkedin',
  label: 'LinkedIn',
  about: 'Sales and leads for campaigns on LinkedIn.',
  sufficient: ['email', 'click_id'],
  clickIds: { li_fat_id: { number: 27, days: 30, cookie: true } },
  sentClickIds: ['li_fat_id'],
  deduplicatesPixel: true,
} as const satisfies Manifest;
