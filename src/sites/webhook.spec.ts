import { type WebhookEvent } from '../events/site.events.js';
import { checkedWebhook, configuring, disabling, enabling, evolveWebhook, type SiteWebhook } from './webhook.js';

const URL = 'https://hooks.shop.example/totals';

/** Folds events that come one after the other, at positions 1, 2, 3 … and as many seconds. */
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
const disabled = (reason?: string) => disabling(fold(set()), reason);

describe('a webhook', () => {
  it('is enabled when it is set, and remembers where that was first', () => {
    expect(fold(set(), set('https://other.example'))).toMatchObject({
      url: 'https://other.example',
      enabled: true,
      first: { position: 1 },
      position: 2,
      secretSince: '2026-03-29T01:00:01.000Z',
    });
  });

  it('knows since when its secret is what it is', () => {
    expect(fold(set(), set(URL, true)).secretSince).toBe('2026-03-29T01:00:02.000Z');
  });

  it('that is the same already needs no event', () => {
    expect(configuring(fold(set()), URL, false)).toBeUndefined();
    expect(configuring(fold(set()), URL, true)).toEqual(set(URL, true));
    expect(enabling(fold(set()))).toBeUndefined();
    expect(disabling(fold(set(), disabled()))).toBeUndefined();
  });

  it('that the service disabled says why, and works again once it is set or enabled', () => {
    const gone = fold(set(), disabled('HTTP 410'));
    expect(gone).toMatchObject({ enabled: false, reason: 'HTTP 410' });
    expect(fold(set(), disabled('HTTP 410'), configuring(gone, URL, false))).toMatchObject({
      enabled: true,
      position: 3,
    });
    const again = fold(set(), disabled('HTTP 410'), enabling(gone));
    expect(again).toMatchObject({ enabled: true, position: 3, first: { position: 1 } });
    expect(again).not.toHaveProperty('reason');
  });

  it('that an operator disabled stays so until he says otherwise', () => {
    const off = fold(set(), disabled());
    expect(disabling(off, 'HTTP 410')).toBeUndefined();
    expect(fold(set(), disabled(), set('https://other.example'))).toMatchObject({
      enabled: false,
      url: 'https://other.example',
    });
    expect(disabling(fold(set(), disabled('HTTP 410')))).toEqual({ type: 'site.webhook_disabled.v1', data: {} });
  });
});

describe('an address', () => {
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
  ])('such as %j is refused', (url, word) => {
    expect(() => checkedWebhook({ url, allowPrivate: false })).toThrow(word);
  });

  it('may be private and plain where that is allowed, but holds no credentials', () => {
    expect(checkedWebhook({ url: 'http://10.0.0.1:8080/x', allowPrivate: true })).toEqual({
      url: 'http://10.0.0.1:8080/x',
    });
    expect(() => checkedWebhook({ url: 'http://user@10.0.0.1', allowPrivate: true })).toThrow('user name');
  });
});

describe('a secret', () => {
  it.each(['', ' secret', 'secret\r\nx: y', 'sécret', 'whsec_!!', 'x'.repeat(1_025)])(
    'such as %j is refused',
    (secret) => {
      expect(() => checkedWebhook({ url: URL, secret, allowPrivate: false })).toThrow(/^--secret: /);
    },
  );

  it.each(['s', 'two words', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'])('such as %j is taken as it is', (secret) => {
    expect(checkedWebhook({ url: URL, secret, allowPrivate: false })).toEqual({ url: URL, secret });
  });
});
