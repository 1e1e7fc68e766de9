import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'meta',
  label: 'Meta',
  about: 'Sales for ads on Facebook and Instagram, deduplicated against the pixel.',
  sufficient: ['email', 'phone', 'external_id', 'click_id'],
  clickIds: { fbclid: { number: 23 } },
  // Senders have the cookies _fbc, which contains the click id, and _fbp, and the ids of a lead form and of a WhatsApp advertisement.
  sentClickIds: ['fbclid', 'fbc', 'fbp', 'lead_id', 'ctwa_clid'],
  cookies: { _fbp: { number: 12, sample: 'fb.1.1.1' } },
  deduplicatesPixel: true,
} as const satisfies Manifest;
