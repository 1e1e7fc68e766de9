import { type ReportingWindow } from '../events/outbound.events.js';
import { signature } from '../http/webhook-signature.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { pushRequest, testRequest, webhookSecrets } from './push-request.js';

const CHANGED = Date.parse('2026-03-29T01:00:00Z');
const HOUR = 3_600_000;
const webhook = {
  url: 'https://hooks.shop.example/totals?of=shop',
  secretSince: new Date(CHANGED).toISOString(),
} as SiteWebhook;
const window: ReportingWindow = {
  stretchId: '0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10',
  fromPosition: 10,
  toPosition: 40,
  windowStart: '2026-03-29T00:45:00.000Z',
  windowEnd: '2026-03-29T01:00:00.000Z',
  // In another order: the serialised body must not depend on it.
  body: { bot_traffic_removed: 1, conversions: 3 },
};
const BODY = '{"conversions":3,"bot_traffic_removed":1}';

describe('a push', () => {
  it('carries totals, reporting window and signature', () => {
    expect(pushRequest(webhook, { secret: 'whsec_c2VjcmV0' }, window, CHANGED + 1_999)).toEqual({
      method: 'POST',
      url: webhook.url,
      headers: {
        authorization: 'Bearer whsec_c2VjcmV0',
        'content-type': 'application/json',
        'webhook-id': window.stretchId,
        'webhook-timestamp': String(CHANGED / 1_000 + 1),
        'webhook-signature': signature('whsec_c2VjcmV0', window.stretchId, CHANGED / 1_000 + 1, BODY),
        'x-cc-window-start': window.windowStart,
        'x-cc-window-end': window.windowEnd,
        'x-cc-from-position': '10',
        'x-cc-to-position': '40',
        'x-cc-series': '0',
        'x-cc-series-start': '0',
      },
      body: BODY,
    });
  });

  it('names the series of the window', () => {
    const restored = { ...window, series: 1_000_000_000, seriesStart: 10 };
    expect(pushRequest(webhook, { secret: 's' }, restored, CHANGED).headers).toMatchObject({
      'x-cc-series': '1000000000',
      'x-cc-series-start': '10',
    });
  });

  it('is identical on every attempt except for timestamp and signature', () => {
    const [one, other] = [1, 2].map((tries) => pushRequest(webhook, { secret: 's' }, window, CHANGED + tries * HOUR));
    expect([other?.body, other?.headers['webhook-id']]).toEqual([one?.body, one?.headers['webhook-id']]);
    expect(other?.headers['webhook-signature']).not.toBe(one?.headers['webhook-signature']);
  });

  it('uses a new secret as bearer at once and signs with both for a day', () => {
    const signaturesAt = (ms: number, previous?: string) => {
      const { headers } = pushRequest(webhook, { secret: 'new', previous }, window, ms);
      expect(headers['authorization']).toBe('Bearer new');
      return headers['webhook-signature']?.split(' ');
    };
    const signed = (secret: string, ms: number) => signature(secret, window.stretchId, Math.floor(ms / 1_000), BODY);
    const late = CHANGED + 24 * HOUR - 1;
    expect(signaturesAt(CHANGED, 'old')).toEqual([signed('new', CHANGED), signed('old', CHANGED)]);
    expect(signaturesAt(late, 'old')).toEqual([signed('new', late), signed('old', late)]);
    expect(signaturesAt(late + 1, 'old')).toEqual([signed('new', late + 1)]);
    expect(signaturesAt(CHANGED)).toEqual([signed('new', CHANGED)]);
  });
});

it('a push goes to the encrypted address where the log holds a redacted one', () => {
  const url = 'https://hooks.shop.example/t0k3n';
  const redacted = { ...webhook, url: 'https://hooks.shop.example/***' };
  expect(pushRequest(redacted, { secret: 's', url }, window, CHANGED).url).toBe(url);
  expect(testRequest(redacted, { secret: 's', url }, CHANGED).url).toBe(url);
});

describe('a test push', () => {
  it('has zero totals, a test header, a unique id and no reporting window', () => {
    const { headers, body } = testRequest(webhook, { secret: 's' }, CHANGED);
    expect(body).toBe('{"conversions":0,"bot_traffic_removed":0}');
    expect(headers).toMatchObject({ authorization: 'Bearer s', 'x-cc-test': 'true', 'webhook-id': `test-${CHANGED}` });
    expect(Object.keys(headers).some((name) => name.includes('position') || name.includes('window'))).toBe(false);
  });
});

it('a webhook has no secrets unless all that it needs are stored', () => {
  expect(webhookSecrets(webhook, undefined)).toBeUndefined();
  expect(webhookSecrets(webhook, { previous: 'old' })).toBeUndefined();
  expect(webhookSecrets(webhook, { secret: 'new' })).toEqual({ secret: 'new' });
  const redacted = { url: 'https://hooks.shop.example/***' };
  expect(webhookSecrets(redacted, { secret: 'new' })).toBeUndefined();
  const url = 'https://hooks.shop.example/t0k3n';
  expect(webhookSecrets(redacted, { secret: 'new', url })).toEqual({ secret: 'new', url });
});
