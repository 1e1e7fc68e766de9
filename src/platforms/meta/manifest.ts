import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'meta',
  label: 'Meta',
  clickIds: { fbclid: { number: 23 } },
  // Senders have the cookies _fbc, which contains the click id, and _fbp.
  sentClickIds: ['fbclid', 'fbc', 'fbp'],
  cookies: { _fbp: { number: 12, sample: 'fb.1.1.1' } },
} as const satisfies Manifest;
