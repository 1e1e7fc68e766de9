import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'webhook',
  label: 'Webhook',
  about: 'Each conversion as signed JSON to an address of your own.',
  sufficient: ['email', 'phone', 'external_id', 'click_id'],
} as const satisfies Manifest;
