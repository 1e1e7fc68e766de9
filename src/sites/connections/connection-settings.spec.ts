import type { Connection, Platform } from '../../platforms/platform.js';
import { type ConnectRequest, changedConnection, generateWebhookSecret, newConnection } from './connection-settings.js';

const platform = {
  name: 'meta',
  fields: [
    {
      name: 'pixel_id',
      required: true,
      help: 'Number of the pixel.',
      check: (value: string) => (/^\d+$/.test(value) ? undefined : 'must be digits'),
    },
    { name: 'access_token', secret: true, required: true, help: 'Token of a system user' },
    { name: 'mode', help: 'How' },
    { name: 'developer_token', secret: true, help: 'With mode=upload' },
  ],
  check: ({ settings, secrets }: Connection) =>
    settings['mode'] === 'upload' && !secrets['developer_token']
      ? 'developer_token is required with mode=upload'
      : undefined,
} as unknown as Platform;
const webhook = {
  name: 'webhook',
  fields: [
    { name: 'url', required: true, help: 'Target URL' },
    { name: 'secret', secret: true, required: true, help: 'For the signature' },
  ],
} as unknown as Platform;

const complete: Connection = { settings: { pixel_id: '1' }, secrets: { access_token: 'old' } };
const change = (set: ConnectRequest['set'], current = complete, endpoint?: string) =>
  changedConnection(platform, current, { set, endpoint }, 'generated');

describe('changedConnection', () => {
  it('separates settings and secrets', () => {
    expect(
      change({ pixel_id: ' 12 ', access_token: 'token', events: 'purchase, lead' }, newConnection(platform)),
    ).toEqual({
      settings: { pixel_id: '12', events: 'purchase, lead' },
      secrets: { access_token: 'token' },
    });
  });

  it('starts a new connection with the initial settings of the platform, which the request can change', () => {
    const initialSettings = { 'event.purchase': 'Purchase' };
    const current = newConnection({ ...platform, initialSettings });
    const required = { pixel_id: '1', access_token: 'token' };
    expect(change(required, current).settings).toEqual({ pixel_id: '1', 'event.purchase': 'Purchase' });
    expect(change({ ...required, 'event.purchase': 'Sale' }, current).settings).toMatchObject({
      'event.purchase': 'Sale',
    });
  });

  it('refuses tokens of another endpoint than that of the connection', () => {
    const tokensFrom = { endpoint: 'https://gateway.example' };
    const signIn = (current: Connection) => changedConnection(platform, current, { set: {}, tokensFrom }, 'generated');
    expect(() => signIn(complete)).toThrow('The endpoint of the connection was changed since the sign-in.');
    expect(signIn({ ...complete, ...tokensFrom })).toMatchObject(tokensFrom);
  });

  it('keeps settings that the request does not name', () => {
    expect(change({ access_token: 'new' }, { ...complete, endpoint: 'http://127.0.0.1:1' })).toEqual({
      settings: { pixel_id: '1' },
      secrets: { access_token: 'new' },
      endpoint: 'http://127.0.0.1:1',
    });
    expect(change({})).toEqual(complete);
  });

  it('removes a setting with an empty value unless it is required', () => {
    const more = {
      settings: { ...complete.settings, mode: 'x' },
      secrets: { ...complete.secrets, developer_token: 'y' },
    };
    expect(change({ mode: '', developer_token: '' }, more)).toEqual(complete);
    expect(() => change({ pixel_id: '' })).toThrow(
      /^meta requires pixel_id \(Number of the pixel\)\. Set it with --set/,
    );
    expect(() => change({ access_token: ' ' })).toThrow(/^meta requires access_token/);
    expect(change({ mode: '' })).toEqual(complete);
  });

  it.each([
    ['event.purchase', 'Purchase'],
    ['event.Trial started, finally', '77'],
    ['field.order', 'orderId'],
    ['field.content.id', 'conversionId'],
    ['events', 'purchase'],
    ['default_consent', 'denied'],
  ])('accepts %s for any platform', (name, value) => {
    expect(change({ [name]: value }).settings).toEqual({ pixel_id: '1', [name]: value });
    expect(change({ [name]: '' }, { ...complete, settings: { pixel_id: '1', [name]: value } })).toEqual(complete);
  });

  it.each<[string, string, RegExp]>([
    [
      'pixel',
      '1',
      /^meta has no setting "pixel"\. Available: pixel_id, access_token, mode, developer_token, events, default_consent, event/,
    ],
    ['__proto__', '1', /^meta has no setting "__proto__"/],
    ['event.', '1', /has no setting "event\."/],
    ['field.', 'value', /has no setting "field\."/],
    ['pixel_id', 'abc', /^--set pixel_id: must be digits$/],
    ['pixel_id', '1'.repeat(5_000), /^--set pixel_id: is longer than 4096 characters$/],
    ['access_token', 'one\r\nX-Other: two', /^--set access_token: must not contain line breaks/],
    ['event.a\u0007b', 'one', /^--set event\.a\?b: must not contain line breaks/],
    [
      'field.order',
      'email',
      /^--set field\.order: must be one of event, value, .*, postalCode, country, custom.<key>, or a text in double quotes$/,
    ],
    ['events', 'purchase,,lead', /^--set events: an event name has 1 to 100 characters/],
    [`event.${'x'.repeat(101)}`, 'one', /: an event name has 1 to 100 characters/],
    ['default_consent', 'yes', /^--set default_consent: must be granted or denied$/],
    ['mode', 'upload', /^meta: developer_token is required with mode=upload$/],
  ])('rejects %j and names it', (name, value, message) => {
    expect(() => change({ [name]: value })).toThrow(message);
  });

  it('names all missing fields', () => {
    expect(() => change({}, newConnection(platform))).toThrow(
      'meta requires pixel_id (Number of the pixel), access_token (Token of a system user). Set it with --set <name>=<value>. docs/platforms/meta.md describes where to find it.',
    );
  });

  it('never repeats a value in an error', () => {
    for (const value of ['s3cr3t\n', `s3cr3t${'x'.repeat(5_000)}`]) {
      expect(() => change({ access_token: value, pixel_id: 's3cr3t' })).toThrow(/^(?!.*s3cr3t)/s);
    }
    expect(() => change({}, complete, 'http://user:s3cr3t@127.0.0.1/')).toThrow(/^(?!.*s3cr3t)/s);
  });

  it.each([
    ['http://127.0.0.1:9000', 'http://127.0.0.1:9000'],
    ['https://Gateway.Example/capi/', 'https://gateway.example/capi'],
    ['', undefined],
  ])('accepts the endpoint %j', (text, endpoint) => {
    expect(change({}, { ...complete, endpoint: 'http://127.0.0.1:1' }, text).endpoint).toBe(endpoint);
  });

  it.each([
    'gateway.example',
    'ftp://gateway.example',
    'https://user@gateway.example',
    'https://:password@gateway.example',
    'https://gateway.example/?a=b',
    'https://gateway.example/?',
    'https://gateway.example/#',
    'https://',
  ])('rejects the endpoint %j', (text) => {
    expect(() => change({}, complete, text)).toThrow(/^--endpoint: give a URL/);
  });

  describe('for a webhook', () => {
    const connect = (set: ConnectRequest['set'], current: Connection = newConnection(webhook)) =>
      changedConnection(webhook, current, { set }, 'generated');

    it('generates a secret if none is given', () => {
      expect(connect({ url: 'https://a.example' })).toEqual({
        settings: { url: 'https://a.example' },
        secrets: { secret: 'generated' },
        generatedSecret: 'generated',
      });
      expect(connect({ secret: '' }, { settings: { url: 'u' }, secrets: { secret: 'old' } }).generatedSecret).toBe(
        'generated',
      );
    });

    it('keeps the existing secret', () => {
      expect(connect({ url: 'u', secret: 'given' })).toEqual({ settings: { url: 'u' }, secrets: { secret: 'given' } });
      const existing = { settings: { url: 'u' }, secrets: { secret: 'existing' } };
      expect(connect({ url: 'v' }, existing)).toEqual({ ...existing, settings: { url: 'v' } });
    });
  });
});

it('a generated webhook secret has 32 random bytes in the format of Standard Webhooks', () => {
  const secret = generateWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(generateWebhookSecret()).not.toBe(secret);
});
