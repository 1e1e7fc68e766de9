import { consentFromGpp, consentFromTcf, type GppPing } from './consent-managers.js';

const GRANTED = { ad_storage: 'granted', ad_user_data: 'granted', ad_personalization: 'granted' };
const DENIED = { ad_storage: 'denied', ad_user_data: 'denied', ad_personalization: 'denied' };

const consents = (...ids: number[]) => ({ consents: Object.fromEntries(ids.map((id) => [id, true])) });

describe('consent from a manager with the TCF', () => {
  it.each([
    [[1, 2, 3, 4, 7, 9, 10], GRANTED],
    [[], DENIED],
    [[1], { ...DENIED, ad_storage: 'granted' }],
    [[1, 7], { ...GRANTED, ad_personalization: 'denied' }],
    [[3, 4, 7], { ...DENIED, ad_personalization: 'granted' }],
    [[1, 3, 7], { ...GRANTED, ad_personalization: 'denied' }],
  ] as const)('for the purposes %j is %j', (purposes, consent) => {
    for (const eventStatus of ['tcloaded', 'useractioncomplete'])
      expect(consentFromTcf({ gdprApplies: true, eventStatus, purpose: consents(...purposes) })).toEqual(consent);
  });

  it('is asked for while the banner is shown', () => {
    expect(consentFromTcf({ gdprApplies: true, eventStatus: 'cmpuishown', purpose: consents(1, 7) })).toBe('asking');
    expect(consentFromTcf({ gdprApplies: false, eventStatus: 'cmpuishown' })).toEqual({});
  });

  it('is not known while the manager loads', () => {
    expect(consentFromTcf({ gdprApplies: true, eventStatus: 'tcloaded' })).toBeUndefined();
    expect(consentFromTcf({})).toBeUndefined();
  });

  it('is not stated where the TCF does not apply', () => {
    expect(consentFromTcf({ gdprApplies: false, eventStatus: 'tcloaded' })).toEqual({});
  });
});

describe('consent from a manager with the GPP', () => {
  const ready = (parsedSections: GppPing['parsedSections'], applicableSections = [7]) =>
    consentFromGpp({ signalStatus: 'ready', applicableSections, ...(parsedSections && { parsedSections }) });

  it.each([
    ['an opt-out of sale', { SaleOptOut: 1, SharingOptOut: 2, TargetedAdvertisingOptOut: 2 }, DENIED],
    ['an opt-out of sharing', { SaleOptOut: 2, SharingOptOut: 1, TargetedAdvertisingOptOut: 2 }, DENIED],
    ['an opt-out of targeted advertising', { SaleOptOut: 0, TargetedAdvertisingOptOut: 1 }, DENIED],
    ['Global Privacy Control', { SaleOptOut: 2, Gpc: true }, DENIED],
    ['no opt-out', { SaleOptOut: 2, SharingOptOut: 0, Gpc: false }, GRANTED],
    ['no answer', { SaleOptOut: 0, SharingOptOut: 0, TargetedAdvertisingOptOut: 0 }, {}],
    ['an opt-out by US Privacy', { OptOutSale: 'Y' }, DENIED],
    ['no opt-out by US Privacy', { OptOutSale: 'N' }, GRANTED],
    ['European purposes', { PurposeConsents: [true, true, true, true, false, false, true] }, GRANTED],
    ['European refusals', { PurposeConsents: [false] }, DENIED],
    [
      'Canadian purposes, express and implied',
      { PurposesExpressConsent: [true], PurposesImpliedConsent: [false, false, true, true, false, false, true] },
      GRANTED,
    ],
  ])('follows from %s', (_, section, consent) => {
    expect(ready({ section })).toEqual(consent);
    expect(ready({ section: [section] })).toEqual(consent);
    expect(ready({ section: [section, { Gpc: true }] })).toMatchObject('PurposeConsents' in section ? consent : {});
  });

  it('is denied when one of several sections denies it, in any order', () => {
    const [denial, grant] = [{ SaleOptOut: 1 }, { SaleOptOut: 2 }];
    expect(ready({ usnat: denial, usca: grant })).toEqual(DENIED);
    expect(ready({ usnat: grant, usca: denial })).toEqual(DENIED);
  });

  it('is not known before the signal is ready, and not stated where no section applies', () => {
    expect(consentFromGpp({ signalStatus: 'not ready', parsedSections: { usnat: { SaleOptOut: 1 } } })).toBeUndefined();
    expect(consentFromGpp({})).toBeUndefined();
    expect(consentFromGpp({ signalStatus: 'not ready', cmpDisplayStatus: 'hidden' })).toBeUndefined();
    expect(consentFromGpp({ signalStatus: 'not ready', cmpDisplayStatus: 'visible' })).toBe('asking');
    expect(ready({ usnat: { SaleOptOut: 1 } }, [-1])).toEqual({});
    expect(ready(undefined)).toEqual({});
  });
});
