import type { SiteWebhook } from '../sites/webhook.js';
import { isHolding } from './hold-sources.js';

const SINCE = '2026-03-01T00:00:00.000Z';
const DAY_MS = 86_400_000;

const webhook = (over: Partial<SiteWebhook>): SiteWebhook => ({
  url: 'https://hooks.example/',
  enabled: true,
  since: SINCE,
  first: { position: 1, time: SINCE },
  position: 1,
  secretSince: SINCE,
  ...over,
});
const afterDays = (days: number) => Date.parse(SINCE) + days * DAY_MS;

describe('the hold of a webhook', () => {
  it('has no limit while the webhook is enabled', () => {
    expect(isHolding(webhook({}), afterDays(1_000), 30 * DAY_MS)).toBe(true);
  });

  it('lasts as long as the retention period after the service disabled the webhook', () => {
    const disabled = webhook({ enabled: false, reason: 'HTTP 410' });
    expect(isHolding(disabled, afterDays(29.9), 30 * DAY_MS)).toBe(true);
    expect(isHolding(disabled, afterDays(30), 30 * DAY_MS)).toBe(false);
  });

  it('ends when an operator disables the webhook', () => {
    expect(isHolding(webhook({ enabled: false }), afterDays(0), 30 * DAY_MS)).toBe(false);
  });
});
