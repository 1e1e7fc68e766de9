import { sentItem } from '../../test/support/platform-payloads.js';
import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import type { Conversion, SentConsent } from './conversion.js';
import { platform as ga4 } from './ga4/index.js';
import { platform as googleAds } from './google_ads/index.js';
import { platform as meta } from './meta/index.js';
import { platform as microsoftAds } from './microsoft_ads/index.js';
import { platform as pinterest } from './pinterest/index.js';
import type { Platform, Settings } from './platform.js';
import { platform as reddit } from './reddit/index.js';
import { platform as segment } from './segment/index.js';
import { platform as snapchat } from './snapchat/index.js';
import { platform as tiktok } from './tiktok/index.js';

const PURCHASE: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const stating = (sentConsent: SentConsent, more: Partial<Conversion> = {}): Conversion => ({
  ...PURCHASE,
  sentConsent,
  ...more,
});
const USER_DATA = { ad_user_data: 'granted' } as const;
const STORAGE = { ad_storage: 'granted' } as const;
const NOT_PERSONAL = { ad_personalization: 'denied' } as const;

const GOOGLE = { customer_id: '1', 'event.purchase': '2' };
const GA4 = { synthetic_client_id: 'yes' };

describe('the consent that a sender states with a conversion', () => {
  it.each<[string, Platform, Settings, Conversion, object | undefined]>([
    ['Data Manager, granted', googleAds, GOOGLE, stating(USER_DATA), { adUserData: 'CONSENT_GRANTED' }],
    ['Data Manager, not stated for user data', googleAds, GOOGLE, stating(STORAGE), undefined],
    [
      'Data Manager, not to personalisation',
      googleAds,
      GOOGLE,
      stating({ ...USER_DATA, ...NOT_PERSONAL }, { personalization: 'denied' }),
      { adUserData: 'CONSENT_GRANTED', adPersonalization: 'CONSENT_DENIED' },
    ],
    ['upload, granted', googleAds, { ...GOOGLE, mode: 'upload' }, stating(USER_DATA), { adUserData: 'GRANTED' }],
    ['upload, not stated', googleAds, { ...GOOGLE, mode: 'upload' }, stating(NOT_PERSONAL), undefined],
    ['GA4, granted', ga4, GA4, stating(USER_DATA), { ad_user_data: 'GRANTED' }],
    [
      'GA4, denied',
      ga4,
      GA4,
      stating({ ad_user_data: 'denied' }, { consent: 'denied' }),
      { ad_user_data: 'DENIED', ad_personalization: 'DENIED' },
    ],
  ])('is sent to Google: %s', (_, platform, settings, conversion, consent) => {
    expect(sentItem(platform, conversion, settings).consent).toEqual(consent);
  });

  it('ends what Google may not get', () => {
    const denied = stating({ ad_user_data: 'denied' }, { consent: 'denied' });
    for (const settings of [GOOGLE, { ...GOOGLE, mode: 'upload' }])
      expect(googleAds.payload(denied, settings)).toEqual({ skip: 'consent_denied' });
    const analytics = stating({ analytics_storage: 'denied' });
    expect(ga4.payload(analytics, GA4)).toEqual({ skip: 'consent_denied' });
    const order = { eventId: 'e', event: 'purchase', currency: 'EUR', timeMs: 0, remaining: 0, correctedMs: 0 };
    expect(ga4.correction?.(analytics, order, GA4)).toEqual({ skip: 'consent_denied' });
  });

  it.each([
    [STORAGE, 'unknown', 'G'],
    [USER_DATA, 'unknown', undefined],
    [STORAGE, 'denied', 'D'],
    [{ ad_storage: 'denied' }, 'denied', 'D'],
  ] as const)('is sent to Microsoft: %j with the decision %s', (sent, consent, flag) => {
    const item = sentItem(microsoftAds, stating(sent, { consent }), {
      'event.purchase': 'p',
    });
    expect(item.adStorageConsent).toBe(flag);
  });

  it.each([
    ['Meta', meta, { data_processing_options: ['LDU'] }],
    ['TikTok', tiktok, { limited_data_use: true }],
    ['Snapchat', snapchat, { data_processing_options: ['LDU'] }],
    ['Pinterest', pinterest, { opt_out: true }],
    ['Reddit', reddit, { user: { data_processing_options: { modes: ['LDU'] } } }],
  ] as const)('limits the use of data at %s if it is not to personalisation', (_, platform, flag) => {
    expect(sentItem(platform, stating(NOT_PERSONAL), {})).toMatchObject(flag);
    expect(sentItem(platform, stating({ ad_personalization: 'granted' }), {})).toEqual(
      sentItem(platform, PURCHASE, {}),
    );
  });

  describe('at Segment', () => {
    const preferences = (conversion: Conversion) => sentItem(segment, conversion, {}).context.consent;

    it('is in the categories of consent management', () => {
      const sent = { ...USER_DATA, analytics_storage: 'denied' } as const;
      expect(preferences(stating(sent))).toEqual({
        categoryPreferences: { ad_user_data: true, analytics_storage: false },
      });
      const denied = { ad_storage: false, ad_user_data: false, ad_personalization: false };
      expect(preferences(stating(USER_DATA, { consent: 'denied' }))).toEqual({ categoryPreferences: denied });
    });

    it('is a denial where everything personal is withheld, and absent without both', () => {
      const denied = { ad_storage: false, ad_user_data: false, ad_personalization: false };
      const anonymous: Conversion = { ...PURCHASE, consent: 'denied', isAnonymous: true };
      expect(preferences(anonymous)).toEqual({ categoryPreferences: denied });
      expect(preferences({ ...anonymous, consent: 'unknown' })).toBeUndefined();
      expect(preferences({ ...PURCHASE, consent: 'denied' })).toBeUndefined();
      expect(preferences(PURCHASE)).toBeUndefined();
    });
  });
});
