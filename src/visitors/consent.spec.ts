import { decideConsent, meaningOf, readConsent } from './consent.js';

const YES = { ad_storage: 'granted', ad_user_data: 'granted' } as const;

describe('consent', () => {
  it.each([
    [{ ad_storage: 'granted', ad_user_data: 'granted' }, 'granted'],
    [{ ad_storage: 'granted', ad_user_data: 'denied' }, 'denied'],
    [{ ad_storage: 'granted' }, 'unknown'],
    [{ ad_storage: 'denied' }, 'denied'],
    [{ ad_storage: 'granted', gpc: true }, 'denied'],
    [{ gpc: true }, 'denied'],
    // Neither field concerns advertising.
    [{ analytics_storage: 'denied' }, 'unknown'],
    [{ ad_personalization: 'denied' }, 'unknown'],
    [undefined, 'unknown'],
  ] as const)('%j means %s', (state, meaning) => {
    expect(meaningOf(state)).toBe(meaning);
  });

  it('reads valid fields and ignores everything else', () => {
    expect(readConsent({ ad_storage: 'denied', ad_user_data: 'maybe', gpc: 'yes', other: 1 })).toEqual({
      ad_storage: 'denied',
    });
    for (const nothing of [null, undefined, 'granted', 1, {}, { gpc: false }, []])
      expect(readConsent(nothing)).toBeUndefined();
  });

  it.each([
    ['granted', YES, false, { consent: 'granted' }],
    ['granted, when required', YES, true, { consent: 'granted' }],
    ['denied', { ad_storage: 'denied' }, false, { consent: 'denied', withheld: 'opted_out' }],
    ['missing', undefined, false, { consent: 'unknown' }],
    ['missing, when required', undefined, true, { consent: 'denied', withheld: 'consent_missing' }],
    ['unreadable', 'unreadable', false, { consent: 'unknown', withheld: 'consent_unreadable' }],
    ['unreadable, when required', 'unreadable', true, { consent: 'unknown', withheld: 'consent_unreadable' }],
  ] as const)('decides on consent that is %s', (_, state, isRequired, decision) => {
    expect(decideConsent(state, isRequired)).toEqual(decision);
  });
});
