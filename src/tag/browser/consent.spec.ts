import { addRegions, consentStatus, type DefaultRegions, deniedFields, parseConsent } from './consent.js';

describe('consent', () => {
  it('is parsed into four fields; unknown fields and values are ignored', () => {
    const all = (answer: string) => ({
      ad_storage: answer,
      ad_user_data: answer,
      ad_personalization: answer,
      analytics_storage: answer,
    });
    expect(parseConsent('granted')).toEqual(all('granted'));
    expect(parseConsent('denied')).toEqual(all('denied'));
    expect(parseConsent({ ad_storage: 'granted', ad_user_data: 'maybe', wait_for_update: 500 })).toEqual({
      ad_storage: 'granted',
    });
    for (const invalid of ['yes', '', undefined, null, 1, [], true]) expect(parseConsent(invalid)).toEqual({});
  });

  it.each([
    [{}, 'unknown'],
    [{ analytics_storage: 'denied', ad_personalization: 'denied' }, 'unknown'],
    [{ ad_storage: 'granted' }, 'unknown'],
    [{ ad_storage: 'granted', ad_user_data: 'granted' }, 'granted'],
    [{ ad_storage: 'granted', ad_user_data: 'granted', analytics_storage: 'denied' }, 'granted'],
    [{ ad_storage: 'denied' }, 'denied'],
    [{ ad_storage: 'granted', ad_user_data: 'denied' }, 'denied'],
  ] as const)('%j has the status %s', (consent, status) => {
    expect(consentStatus(consent)).toBe(status);
  });

  it('cannot be granted by a default, only denied', () => {
    expect(deniedFields({ ad_storage: 'denied', ad_user_data: 'granted' })).toEqual({ ad_storage: 'denied' });
  });

  it('has the regions of the defaults that grant or deny it', () => {
    const regions: DefaultRegions = {};
    addRegions(regions, 'denied', ['DE', 'FR']);
    addRegions(regions, 'denied', 'ES');
    addRegions(regions, 'granted', ['US']);
    addRegions(regions, 'unknown', ['GB']);
    addRegions(regions, 'granted', undefined);
    expect(regions).toEqual({ denied: ['DE', 'FR', 'ES'], granted: ['US'] });
    addRegions(regions, 'denied', undefined);
    expect(regions.elsewhere).toBe(true);
  });
});
