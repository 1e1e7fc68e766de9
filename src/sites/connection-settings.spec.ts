import type { Connection, Platform } from '../platforms/platform.js';
import { type ConnectRequest, changedConnection, generateWebhookSecret, NOT_CONNECTED } from './connection-settings.js';

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
    { name: 'url', required: true, help: 'Where to' },
    { name: 'secret', secret: true, required: true, help: 'For the signature' },
  ],
} as unknown as Platform;

const whole: Connection = { settings: { pixel_id: '1' }, secrets: { access_token: 'old' } };
const change = (set: ConnectRequest['set'], current = whole, endpoint?: string) =>
  changedConnection(platform, current, { set, endpoint }, 'spare');

describe('changedConnection', () => {
  it('tells settings and secrets apart', () => {
    expect(change({ pixel_id: ' 12 ', access_token: 'token', events: 'purchase, lead' }, NOT_CONNECTED)).toEqual({
      settings: { pixel_id: '12', events: 'purchase, lead' },
      secrets: { access_token: 'token' },
    });
  });

  it('keeps what is not named', () => {
    expect(change({ access_token: 'new' }, { ...whole, endpoint: 'http://127.0.0.1:1' })).toEqual({
      settings: { pixel_id: '1' },
      secrets: { access_token: 'new' },
      endpoint: 'http://127.0.0.1:1',
    });
    expect(change({})).toEqual(whole);
  });

  it('takes away what is set to nothing, but not what must be there', () => {
    const more = { settings: { ...whole.settings, mode: 'x' }, secrets: { ...whole.secrets, developer_token: 'y' } };
    expect(change({ mode: '', developer_token: '' }, more)).toEqual(whole);
    expect(() => change({ pixel_id: '' })).toThrow(/^meta lacks pixel_id \(Number of the pixel\)\. Give it with --set/);
    expect(() => change({ access_token: ' ' })).toThrow(/^meta lacks access_token/);
    expect(change({ mode: '' })).toEqual(whole);
  });

  it.each([
    ['event.purchase', 'Purchase'],
    ['event.Trial started, finally', '77'],
    ['field.order', 'orderId'],
    ['field.content.id', 'conversionId'],
    ['events', 'purchase'],
  ])('takes %s for any platform', (name, value) => {
    expect(change({ [name]: value }).settings).toEqual({ pixel_id: '1', [name]: value });
    expect(change({ [name]: '' }, { ...whole, settings: { pixel_id: '1', [name]: value } })).toEqual(whole);
  });

  it.each<[string, string, RegExp]>([
    [
      'pixel',
      '1',
      /^meta has no setting "pixel"\. There are: pixel_id, access_token, mode, developer_token, events, event/,
    ],
    ['__proto__', '1', /^meta has no setting "__proto__"/],
    ['event.', '1', /has no setting "event\."/],
    ['field.', 'value', /has no setting "field\."/],
    ['pixel_id', 'abc', /^--set pixel_id: must be digits$/],
    ['pixel_id', '1'.repeat(5_000), /^--set pixel_id: is longer than 4096 characters$/],
    ['access_token', 'one\r\nX-Other: two', /^--set access_token: must not contain line breaks/],
    ['event.a\u0007b', 'one', /^--set event\.a\?b: must not contain line breaks/],
    ['field.order', 'email', /^--set field\.order: must be one of event, value, currency, orderId, conversionId$/],
    ['events', 'purchase,,lead', /^--set events: an event's name has 1 to 100 characters/],
    [`event.${'x'.repeat(101)}`, 'one', /: an event's name has 1 to 100 characters/],
    ['mode', 'upload', /^meta: developer_token is required with mode=upload$/],
  ])('refuses %j, by name', (name, value, message) => {
    expect(() => change({ [name]: value })).toThrow(message);
  });

  it('names everything that lacks', () => {
    expect(() => change({}, NOT_CONNECTED)).toThrow(
      'meta lacks pixel_id (Number of the pixel), access_token (Token of a system user). Give it with --set <name>=<value>.',
    );
  });

  it('never repeats a value', () => {
    for (const value of ['s3cr3t\n', `s3cr3t${'x'.repeat(5_000)}`]) {
      expect(() => change({ access_token: value, pixel_id: 's3cr3t' })).toThrow(/^(?!.*s3cr3t)/s);
    }
    expect(() => change({}, whole, 'http://user:s3cr3t@127.0.0.1/')).toThrow(/^(?!.*s3cr3t)/s);
  });

  it.each([
    ['http://127.0.0.1:9000', 'http://127.0.0.1:9000'],
    ['https://Gateway.Example/capi/', 'https://gateway.example/capi'],
    ['', undefined],
  ])('takes the endpoint %j', (text, endpoint) => {
    expect(change({}, { ...whole, endpoint: 'http://127.0.0.1:1' }, text).endpoint).toBe(endpoint);
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
  ])('refuses the endpoint %j', (text) => {
    expect(() => change({}, whole, text)).toThrow(/^--endpoint: give an address/);
  });

  describe('for a webhook', () => {
    const connect = (set: ConnectRequest['set'], current: Connection = NOT_CONNECTED) =>
      changedConnection(webhook, current, { set }, 'spare');

    it('makes the secret that nobody gave', () => {
      expect(connect({ url: 'https://a.example' })).toEqual({
        settings: { url: 'https://a.example' },
        secrets: { secret: 'spare' },
        madeSecret: 'spare',
      });
      expect(connect({ secret: '' }, { settings: { url: 'u' }, secrets: { secret: 'old' } }).madeSecret).toBe('spare');
    });

    it('leaves alone the one that there is', () => {
      expect(connect({ url: 'u', secret: 'given' })).toEqual({ settings: { url: 'u' }, secrets: { secret: 'given' } });
      const there = { settings: { url: 'u' }, secrets: { secret: 'there' } };
      expect(connect({ url: 'v' }, there)).toEqual({ ...there, settings: { url: 'v' } });
    });
  });
});

it('a webhook secret is 32 random bytes, as Standard Webhooks spells them', () => {
  const secret = generateWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(generateWebhookSecret()).not.toBe(secret);
});
