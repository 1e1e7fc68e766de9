import { PLATFORMS } from '../../platforms/index.js';
import type { ReceivedConversion } from '../received-conversion.js';
import { withOptOut } from '../received-conversion.js';
import { buildPayload, rebuildPayload } from './payload.js';
import { sampleReceived } from './sample-conversion.js';
import { effectiveConsent, leavingOf, type Withhold } from './withholding.js';

const GRANTED = { ad_storage: 'granted', ad_user_data: 'granted', ad_personalization: 'granted' } as const;

describe('what may leave without consent', () => {
  it.each([
    ['identifiers', true, 'what_was_sent'],
    ['identifiers', false, 'what_was_sent'],
    ['personal', true, 'nothing_personal'],
    ['personal', false, 'nothing'],
    ['everything', true, 'nothing'],
    [undefined, true, 'what_was_sent'],
  ] as const)(
    'of a site that withholds %s (platform takes it without a person: %s): %s',
    (withhold, takes, leaving) => {
      expect(leavingOf(withhold, () => takes)).toBe(leaving);
    },
  );

  const sample = sampleReceived(0);
  const received: ReceivedConversion = {
    ...sample,
    personal: {
      ...(sample.personal as NonNullable<ReceivedConversion['personal']>),
      custom: { plan: 'custom-of-jane' },
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
  };
  const custom = { 'field.plan': 'custom.plan', 'field.ours': 'externalId', 'field.country': 'country' };
  const valuesOf = (value: unknown): string[] => {
    if (typeof value === 'string') return value.length > 2 ? [value] : [];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(valuesOf) : [];
  };
  const personal = valuesOf(received.personal);

  describe.each(PLATFORMS.map((platform) => [platform.name, platform] as const))('%s', (_, platform) => {
    const settings = { ...platform.demo, ...custom, 'event.purchase': platform.demo['event.purchase'] ?? 'Purchase' };
    const build = (withhold: Withhold, conversion = received, more: object = {}) =>
      buildPayload(conversion, platform, { ...settings, ...more }, { withhold });

    it('gets nothing of the person where the site withholds everything personal', () => {
      for (const withheld of [
        'opted_out',
        'consent_missing',
        'undecided',
        'denied_by_sender',
        'consent_unreadable',
      ] as const) {
        const consent = withheld === 'consent_unreadable' ? 'unknown' : 'denied';
        // As it is stored by an earlier version, which kept more.
        const payload = build('personal', { ...received, data: { ...received.data, consent, withheld } });
        if ('skip' in payload) {
          expect(payload.skip).toBe('consent_denied');
          continue;
        }
        expect(payload.isAnonymous).toBe(true);
        for (const value of personal) expect(payload.body).not.toContain(value);
      }
    });

    it('gets the same of a connection whose default is a denial', () => {
      const data = { ...received.data, consent: 'unknown' } as const;
      const byDefault = build('personal', { ...received, data }, { default_consent: 'denied' });
      expect(byDefault).toEqual(build('personal', withOptOut(received)));
      expect(build('everything', { ...received, data }, { default_consent: 'denied' })).toEqual({
        skip: 'consent_denied',
      });
    });

    it('gets everything of a person who has consented, whatever the site withholds', () => {
      const given = build('identifiers');
      expect(given).toHaveProperty('body');
      expect(build('personal')).toEqual(given);
      expect(build('everything')).toEqual(given);
    });
  });

  it('is repeated as it was sent, if the site withholds less since', () => {
    const platform = PLATFORMS.find(({ name }) => name === 'webhook');
    if (!platform) throw new Error('no webhook');
    const denied = withOptOut(received);
    const sent = buildPayload(denied, platform, {}, { withhold: 'personal' });
    if ('skip' in sent) throw new Error(sent.skip);
    const { bodySha256 } = sent;
    for (const conversion of [denied, received])
      expect(rebuildPayload(conversion, platform, {}, { withhold: 'identifiers', bodySha256 })).toEqual(sent);
  });
});

describe('what platforms are told of the consent that a sender states', () => {
  it('is what it says where nothing is withheld', () => {
    expect(effectiveConsent(GRANTED, { consent: 'granted' })).toEqual(GRANTED);
    expect(effectiveConsent({ ad_user_data: 'granted' }, {})).toEqual({ ad_user_data: 'granted' });
  });

  it('is never more than was decided', () => {
    const sent = { ...GRANTED, analytics_storage: 'granted' } as const;
    expect(effectiveConsent(sent, { consent: 'denied', withheld: 'opted_out' })).toEqual({
      ...{ ad_storage: 'denied', ad_user_data: 'denied', analytics_storage: 'granted' },
    });
    expect(effectiveConsent(sent, { consent: 'unknown', withheld: 'consent_unreadable' })).toEqual({
      analytics_storage: 'granted',
    });
    expect(effectiveConsent(GRANTED, { consent: 'granted', personalization: 'denied' })).toEqual({
      ...GRANTED,
      ad_personalization: 'denied',
    });
  });
});
