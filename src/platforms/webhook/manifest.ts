import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'webhook',
  label: 'Webhook',
  sufficient: ['email', 'phone', 'external_id', 'click_id'],
} as const satisfies Manifest;
