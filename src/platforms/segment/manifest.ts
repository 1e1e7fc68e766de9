import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'segment',
  label: 'Segment',
  about: 'Sales as events in a Segment workspace, for everything that is connected there.',
  sufficient: ['email'],
} as const satisfies Manifest;
