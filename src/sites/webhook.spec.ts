import { type WebhookEvent } from '../events/site.events.js';
import {
  configureWebhook,
  disableWebhook,
  enableWebhook,
  evolveWebhook,
  type SiteWebhook,
  validateWebhook,
} from './webhook.js';

const URL = 'https://hooks.shop.example/totals';

/** Folds events at positions 1, 2, 3 …, one second apart. */
function fold(...events: (WebhookEvent | undefined)[]): SiteWebhook {
  return events.reduce<SiteWebhook | undefined>((before, event, index) => {
    const time = `2026-03-29T01:00:0${index + 1}.000Z`;
    return event ? evolveWebhook(before, event, { position: index + 1, time }) : before;
  }, undefined) as SiteWebhook;
}
const set = (url = URL, newSecret = false): WebhookEvent => ({
  type: 'site.webhook_configured.v1',
  data: { url, newSecret },
});
const disabled = (reason?: string) => disableWebhook(fold(set()), reason);

describe('webhook', () => {
  it('is enabled when it is set and keeps the position of the first event', () => {
    expect(fold(set(), set('https://other.example'))).toMatchObject({
      url: 'https://other.example',
      enabled: true,
      first: { position: 1 },
      position: 2,
      secretSince: '2026-03-29T01:00:01.000Z',
    });
  });

  it('records when its secret was changed', () => {
    expect(fold(set(), set(URL, true)).secretSince).toBe('2026-03-29T01:00:02.000Z');
  });

  it('needs no event when nothing changes', () => {
    expect(configureWebhook(fold(set()), URL, false, false)).toBeUndefined();
    expect(configureWebhook(fold(set()), URL, true, false)).toEqual(set(URL, true));
    expect(configureWebhook(fold(set()), URL, false, true)).toEqual(set(URL, false));
    expect(enableWebhook(fold(set()))).toBeUndefined();
    expect(disableWebhook(fold(set(), disabled()))).toBeUndefined();
  });

  it('has a reason when the service disabled it, and is active again once it is set or enabled', () => {
    const disabledByService = fold(set(), disabled('HTTP 410'));
    expect(disabledByService).toMatchObject({ enabled: false, reason: 'HTTP 410' });
    expect(fold(set(), disabled('HTTP 410'), configureWebhook(disabledByService, URL, false, false))).toMatchObject({
      enabled: true,
      position: 3,
    });
    const again = fold(set(), disabled('HTTP 410'), enableWebhook(disabledByService));
    expect(again).toMatchObject({ enabled: true, position: 3, first: { position: 1 } });
    expect(again).not.toHaveProperty('reason');
  });

  it('stays disabled by an operator until an operator enables it', () => {
    const off = fold(set(), disabled());
    expect(disableWebhook(off, 'HTTP 410')).toBeUndefined();
    expect(fold(set(), disabled(), set('https://other.example'))).toMatchObject({
      enabled: false,
      url: 'https://other.example',
    });
    expect(disableWebhook(fold(set(), disabled('HTTP 410')))).toEqual({ type: 'site.webhook_disabled.v1', data: {} });
  });
});

describe('webhook URL', () => {
  it.each([
    ['http://hooks.shop.example/', 'https://'],
    ['hooks.shop.example', 'valid URL'],
    ['ftp://hooks.shop.example', 'valid URL'],
    ['https://user:pass@hooks.shop.example', 'user name or password'],
    ['https://hooks.shop.example/a b', 'spaces'],
    ['https://hooks.shop.example/\nx', 'control characters'],
    [`https://hooks.shop.example/${'x'.repeat(2_048)}`, 'longer than'],
    ['https://127.0.0.1/', 'public internet'],
    ['https://0x7f.1/', 'public internet'],
    ['https://[::1]/', 'public internet'],
    ['https://169.254.169.254/latest', 'OUTBOUND_ALLOW_PRIVATE'],
    ['http://localhost:9000/totals', 'OUTBOUND_ALLOW_PRIVATE'],
  ])('is rejected: %j', (url, message) => {
    expect(() => validateWebhook({ url, allowPrivate: false })).toThrow(message);
  });

  it('may be private and http if allowed, but must not contain credentials', () => {
    expect(validateWebhook({ url: 'http://10.0.0.1:8080/x', allowPrivate: true })).toEqual({
      url: 'http://10.0.0.1:8080/x',
    });
    expect(() => validateWebhook({ url: 'http://user@10.0.0.1', allowPrivate: true })).toThrow('user name');
  });
});

describe('webhook secret', () => {
  it.each(['', ' secret', 'secret\r\nx: y', 'sécret', 'whsec_!!', 'x'.repeat(1_025)])('is rejected: %j', (secret) => {
    expect(() => validateWebhook({ url: URL, secret, allowPrivate: false })).toThrow(/^--secret: /);
  });

  it.each(['s', 'two words', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])('is accepted unchanged: %j', (secret) => {
    expect(validateWebhook({ url: URL, secret, allowPrivate: false })).toEqual({ url: URL, secret });
  });
});
