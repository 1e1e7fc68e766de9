import { PLATFORM_CASES } from '../../../test/support/platform-cases.js';
import { UTM_FIELDS } from '../../conversions/inbound/fields/utm.js';
import { COOKIES } from '../../platforms/click-ids.js';
import { CONSENT_FIELDS } from '../../platforms/conversion.js';
import { PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import { buildPayload } from './payload.js';
import { sampleReceived } from './sample-conversion.js';

const NOW_MS = Date.parse('2026-03-01T10:16:00Z');

describe('sample conversion', () => {
  it.each(PLATFORM_CASES)('would be sent to $name', ({ platform, connection }) => {
    const payload = buildPayload(sampleReceived(NOW_MS), platform, connection.settings, {
      payloadVersion: PAYLOAD_VERSION,
    });
    expect(payload).toHaveProperty('body');
  });

  it('has all that a sender or the tag can state of a purchase in a shop', () => {
    const { data, personal } = sampleReceived(NOW_MS);
    expect(Object.keys(data.sentConsent ?? {})).toEqual(CONSENT_FIELDS);
    const { visit, ...rest } = personal ?? {};
    expect(Object.keys(visit?.cookies ?? {}).toSorted()).toEqual(COOKIES.map(([kind]) => kind).toSorted());
    expect(Object.keys(visit?.utm ?? {})).toEqual(UTM_FIELDS);
    expect(Object.keys(visit ?? {})).toEqual(
      expect.arrayContaining(['pageUrl', 'referrer', 'ip', 'userAgent', 'clicks']),
    );
    expect(Object.keys(rest)).toEqual(
      expect.arrayContaining(['phone', 'firstName', 'lastName', 'externalId', 'address', 'custom']),
    );
  });

  it('shows what a sender states of consent and the event of the pixel', () => {
    const previewOf = (name: string) => {
      const { platform, connection } = PLATFORM_CASES.find(
        (found) => found.name === name,
      ) as (typeof PLATFORM_CASES)[0];
      const payload = buildPayload(sampleReceived(NOW_MS), platform, connection.settings, {
        payloadVersion: PAYLOAD_VERSION,
      });
      return 'body' in payload ? JSON.parse(payload.body) : payload;
    };
    expect(previewOf('google_ads')).toMatchObject({
      transactionId: 'ORD-1',
      consent: { adUserData: 'CONSENT_GRANTED', adPersonalization: 'CONSENT_GRANTED' },
    });
    expect(previewOf('segment').context.consent.categoryPreferences).toMatchObject({ analytics_storage: true });
  });
});
