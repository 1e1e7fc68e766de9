import type { Manifest } from '../manifest.js';

export const manifest = { name: 'webhook', label: 'Webhook' } as const satisfies Manifest;
