import type { Manifest } from '../manifest.js';

export const manifest = {
  name: 'google_ads',
  label: 'Google Ads',
  about: 'Sales for the campaigns on Google Search, YouTube and Display whose clicks brought them.',
  sufficient: ['email', 'phone', 'click_id'],
  clickIds: {
    gclid: { number: 19 },
    gbraid: { number: 20, title: 'Google Ads, app' },
    wbraid: { number: 21, title: 'Google Ads, web to app' },
    dclid: { number: 22, title: 'Google Display' },
  },
  sentClickIds: ['gclid', 'gbraid', 'wbraid', 'dclid'],
  alternativeClicks: { number: 31, kinds: ['gclid', 'gbraid', 'wbraid'] },
} as const satisfies Manifest;
