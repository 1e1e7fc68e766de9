import type { Manifest } from '../manifest.js';

export const manifest = { name: 'segment', label: 'Segment', sufficient: ['email'] } as const satisfies Manifest;
