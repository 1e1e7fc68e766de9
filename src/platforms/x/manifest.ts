import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'x',
  label: 'X',
  about: 'Sales for ads on X.',
  sufficient: ['email', 'phone', 'click_id'],
  clickIds: { twclid: { number: 26, cookie: true } },
  sentClickIds: ['twclid'],
  deduplicatesPixel: true,
} as const satisfies Manifest;
