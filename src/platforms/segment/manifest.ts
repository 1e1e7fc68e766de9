import type { Manifest } from '../manifest.js';

export const manifest = { name: 'segment', label: 'Segment' } as const satisfies Manifest;
