import { consentIn, denialsOf, standingOf } from './consent.js';

describe('consent', () => {
  it('is spelled out in four fields, and nothing else is heard', () => {
    const all = (answer: string) => ({
      ad_storage: answer,
      ad_user_data: answer,
      ad_personalization: answer,
      analytics_storage: answer,
    });
    expect(consentIn('granted')).toEqual(all('granted'));
    expect(consentIn('denied')).toEqual(all('denied'));
    expect(consentIn({ ad_storage: 'granted', ad_user_data: 'maybe', wait_for_update: 500 })).toEqual({
      ad_storage: 'granted',
    });
    for (const nonsense of ['yes', '', undefined, null, 1, [], true]) expect(consentIn(nonsense)).toEqual({});
  });

  it.each([
    [{}, 'unknown'],
    [{ analytics_storage: 'denied', ad_personalization: 'denied' }, 'unknown'],
    [{ ad_storage: 'granted' }, 'unknown'],
    [{ ad_storage: 'granted', ad_user_data: 'granted' }, 'granted'],
    [{ ad_storage: 'granted', ad_user_data: 'granted', analytics_storage: 'denied' }, 'granted'],
    [{ ad_storage: 'denied' }, 'denied'],
    [{ ad_storage: 'granted', ad_user_data: 'denied' }, 'denied'],
  ] as const)('%j is %s', (consent, standing) => {
    expect(standingOf(consent)).toBe(standing);
  });

  it('by default only denies', () => {
    expect(denialsOf({ ad_storage: 'denied', ad_user_data: 'granted' })).toEqual({ ad_storage: 'denied' });
  });
});
