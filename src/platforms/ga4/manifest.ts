import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'ga4',
  label: 'GA4',
  about: 'Sales as events of a Google Analytics property, in the session of the visitor.',
  sufficient: [],
  cookies: {
    _ga: { number: 14, sample: '1111111111.2222222222', part: true },
    _ga_session: { number: 15, part: true },
  },
} as const satisfies Manifest;
