import { changedSettings, DEFAULT_SITE_SETTINGS, type SettingsRequest } from './site-settings.js';

const change = (request: Partial<SettingsRequest>, current = DEFAULT_SITE_SETTINGS) =>
  changedSettings(current, { set: [], unset: [], ...request });
const set = (flag: string, ...values: string[]) => change({ set: values.map((value) => ({ flag, value })) });

describe('changedSettings', () => {
  it.each([
    ['dedup-window', '12h', { dedupWindow: '12h' }],
    ['dedup-window', '0', { dedupWindow: '0s' }],
    ['bot-threshold', '50', { botThreshold: 50 }],
    ['bot-mode', 'observe', { botMode: 'observe' }],
    ['consent-required', 'yes', { consentRequired: true }],
    ['withhold', 'everything', { withhold: 'everything' }],
    ['country', 'de', { country: 'DE' }],
    ['origin', 'Shop.Example', { origins: ['shop.example'] }],
    ['block-disposable', 'yes', { blockDisposable: true }],
    ['block-ip', '10.0.0.0/8', { blockIps: ['10.0.0.0/8'] }],
    ['block-ua', 'curl', { blockUserAgents: ['curl'] }],
    ['block-country', 'fr', { blockCountries: ['FR'] }],
    ['email-capture', 'no', { emailCapture: false }],
    ['block', '@Spam.Example', { blocked: ['@spam.example'] }],
  ])('sets --%s %s', (flag, value, expected) => {
    expect(set(flag, value)).toEqual(expected);
  });

  it('stores only the hash of a blocked address', () => {
    const { blocked } = set('block', ' Jane.Doe@Example.com ');
    expect(blocked).toEqual(['86e0b9e56c17cc4d12387e1949b85053fbe73bc3ce5a1188713a9d300cc6133d']);
  });

  it('adds each value to a list once and removes single values', () => {
    const blocked = { ...DEFAULT_SITE_SETTINGS, ...set('block', '@a.example', '@b.example', '@a.example') };
    expect(blocked.blocked).toEqual(['@a.example', '@b.example']);
    expect(change({ unset: ['block=@a.example'] }, blocked)).toEqual({ blocked: ['@b.example'] });
    expect(change({ unset: ['block'] }, blocked)).toEqual({ blocked: [] });
  });

  it('removes a value that is no longer accepted', () => {
    const earlier = { ...DEFAULT_SITE_SETTINGS, blockCountries: ['UK', 'FR'] };
    expect(change({ unset: ['block-country=UK'] }, earlier)).toEqual({ blockCountries: ['FR'] });
  });

  it('returns no setting when nothing changes', () => {
    expect(set('bot-threshold', '30')).toEqual({});
    expect(change({ unset: ['country'] })).toEqual({});
  });

  it.each([
    ['dedup-window', '31d', /--dedup-window: "31d" is too long/],
    ['dedup-window', 'soon', /is not a duration/],
    ['bot-threshold', '101', /from 0 to 100/],
    ['bot-mode', 'maybe', /observe or enforce/],
    ['country', 'XQ', /country code/],
    ['country', 'UK', /--country: "UK" is not an ISO 3166 country code such as DE or GB/],
    ['country', 'ZZ', /country code/],
    ['block-country', 'EU', /country code/],
    ['block', 'no-address', /email address, or a domain/],
    ['block-ip', '300.1.1.1', /neither an address nor a CIDR/],
    ['block-ip', '', /--block-ip: give an address/],
    ['colour', 'red', /There is no setting "colour"/],
  ])('rejects --%s %s with a reason', (flag, value, message) => {
    expect(() => set(flag, value)).toThrow(message);
  });

  it('rejects removing a value from a setting that is not a list', () => {
    expect(() => change({ unset: ['bot-mode=observe'] })).toThrow(/it is not a list/);
  });
});
