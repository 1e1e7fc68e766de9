import { decideConsent, meaningOf, readConsent } from './consent.js';

const YES = { ad_storage: 'granted', ad_user_data: 'granted' } as const;

describe('what somebody said about consent', () => {
  it.each([
    [{ ad_storage: 'granted', ad_user_data: 'granted' }, 'granted'],
    [{ ad_storage: 'granted', ad_user_data: 'denied' }, 'denied'],
    [{ ad_storage: 'granted' }, 'unknown'],
    [{ ad_storage: 'denied' }, 'denied'],
    [{ ad_storage: 'granted', gpc: true }, 'denied'],
    [{ gpc: true }, 'denied'],
    // Neither says anything about advertising.
    [{ analytics_storage: 'denied' }, 'unknown'],
    [{ ad_personalization: 'denied' }, 'unknown'],
    [undefined, 'unknown'],
  ] as const)('%j means %s', (state, meaning) => {
    expect(meaningOf(state)).toBe(meaning);
  });

  it('is read word by word, and nothing else with it', () => {
    expect(readConsent({ ad_storage: 'denied', ad_user_data: 'maybe', gpc: 'yes', other: 1 })).toEqual({
      ad_storage: 'denied',
    });
    for (const nothing of [null, undefined, 'granted', 1, {}, { gpc: false }, []])
      expect(readConsent(nothing)).toBeUndefined();
  });

  it.each([
    ['granted', YES, false, { consent: 'granted' }],
    ['granted where it is required', YES, true, { consent: 'granted' }],
    ['denied', { ad_storage: 'denied' }, false, { consent: 'denied', withheld: 'opted_out' }],
    ['nothing', undefined, false, { consent: 'unknown' }],
    ['nothing where it is required', undefined, true, { consent: 'denied', withheld: 'consent_missing' }],
    ['what cannot be read', 'unreadable', false, { consent: 'unknown', withheld: 'consent_unreadable' }],
    [
      'what cannot be read where it is required',
      'unreadable',
      true,
      { consent: 'unknown', withheld: 'consent_unreadable' },
    ],
  ] as const)('%s is decided on', (_, state, isRequired, decision) => {
    expect(decideConsent(state, isRequired)).toEqual(decision);
  });
});
