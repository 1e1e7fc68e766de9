import { sentItem } from '../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import type { Conversion } from './conversion.js';
import { platform as ga4 } from './ga4/index.js';
import { platform as googleAds } from './google_ads/index.js';
import type { Settings } from './platform.js';

const CONVERSION = SAMPLE_CONVERSIONS['with-click-id'];
const GOOGLE: Settings = { customer_id: '1234567890', 'event.purchase': '987' };

describe('consent to personalised advertising', () => {
  it.each<[Partial<Conversion>, object | undefined]>([
    [{ consent: 'granted', personalization: 'granted' }, ['GRANTED', 'GRANTED']],
    [{ consent: 'granted', personalization: 'denied' }, ['GRANTED', 'DENIED']],
    [{ consent: 'unknown', personalization: 'denied' }, [undefined, 'DENIED']],
    [{ consent: 'granted' }, ['GRANTED', undefined]],
    [{ consent: 'unknown' }, undefined],
  ])('with %j is stated where it is known', (consent, expected) => {
    const conversion = { ...CONVERSION, ...consent };
    const google = sentItem(googleAds, conversion, GOOGLE).consent;
    const analytics = sentItem(ga4, conversion, { measurement_id: 'G-ABC1234' }).consent;
    const plain = (value: string | undefined) => value?.replace('CONSENT_', '');
    expect(google && [plain(google.adUserData), plain(google.adPersonalization)]).toEqual(expected);
    expect(analytics && [analytics.ad_user_data, analytics.ad_personalization]).toEqual(expected);
  });

  it('is denied by an opt-out, and no part of the click conversion upload', () => {
    const optedOut = { ...CONVERSION, consent: 'denied', personalization: 'granted' } as const;
    expect(sentItem(ga4, optedOut, { measurement_id: 'G-ABC1234' }).consent).toEqual({
      ...{ ad_user_data: 'DENIED', ad_personalization: 'DENIED' },
    });
    const granted = { ...CONVERSION, consent: 'granted', personalization: 'granted' } as const;
    expect(sentItem(googleAds, granted, { ...GOOGLE, mode: 'upload' }).consent).toEqual({ adUserData: 'GRANTED' });
  });
});
