import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'ga4',
  label: 'GA4',
  sufficient: [],
  cookies: {
    _ga: { number: 14, sample: '1111111111.2222222222', part: true },
    _ga_session: { number: 15, part: true },
  },
} as const satisfies Manifest;
