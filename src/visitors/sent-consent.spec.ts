import type { SentConsent } from '../platforms/conversion.js';
import type { Match } from './matcher.js';
import { withSentConsent } from './sent-consent.js';

const VISIT = { clicks: {}, cookies: {}, utm: {} };
const GRANTED = { ad_storage: 'granted', ad_user_data: 'granted' } as const;

const matches = {
  unknown: { consent: 'unknown', visit: VISIT, botVisitors: 1 },
  granted: { consent: 'granted', visit: VISIT, personalization: 'granted', botVisitors: 1 },
  'not personal': { consent: 'granted', visit: VISIT, personalization: 'denied' },
  denied: { consent: 'denied', withheld: 'opted_out' },
  missing: { consent: 'denied', withheld: 'consent_missing' },
  undecided: { consent: 'denied', withheld: 'undecided' },
  unreadable: { consent: 'unknown', withheld: 'consent_unreadable' },
} as const satisfies Record<string, Match>;
type Known = keyof typeof matches;

describe('the consent that a sender states', () => {
  it.each<[Known, string, SentConsent, object]>([
    [
      'granted',
      'a denial',
      { ad_user_data: 'denied' },
      { consent: 'denied', withheld: 'denied_by_sender', botVisitors: 1 },
    ],
    [
      'unknown',
      'a denial',
      { ad_storage: 'denied' },
      { consent: 'denied', withheld: 'denied_by_sender', botVisitors: 1 },
    ],
    ['unreadable', 'a denial', { ad_storage: 'denied' }, { consent: 'denied', withheld: 'denied_by_sender' }],
    ['unknown', 'a grant', GRANTED, { ...matches.unknown, consent: 'granted' }],
    ['unknown', 'a part of a grant', { ad_user_data: 'granted' }, matches.unknown],
    [
      'granted',
      'no personalisation',
      { ad_personalization: 'denied' },
      { ...matches.granted, personalization: 'denied' },
    ],
    ['granted', 'analytics only', { analytics_storage: 'denied' }, matches.granted],
    [
      'unknown',
      'personalisation',
      { ad_personalization: 'granted' },
      { ...matches.unknown, personalization: 'granted' },
    ],
    ['not personal', 'personalisation', { ...GRANTED, ad_personalization: 'granted' }, matches['not personal']],
  ])('decides for %s and %s', (known, _, sent, match) => {
    expect(withSentConsent(matches[known], sent)).toEqual(match);
  });

  it.each(['denied', 'missing', 'undecided', 'unreadable'] as const)('lifts nothing where it is %s', (known) => {
    expect(withSentConsent(matches[known], { ...GRANTED, ad_personalization: 'granted' })).toBe(matches[known]);
  });

  it('never permits more than without it', () => {
    const values = ['granted', 'denied', undefined] as const;
    const fields = values.flatMap((ad_storage) =>
      values.flatMap((ad_user_data) =>
        values.map((ad_personalization) => ({ ad_storage, ad_user_data, ad_personalization })),
      ),
    );
    for (const match of Object.values(matches) as Match[])
      for (const sent of fields) {
        const decided = withSentConsent(match, sent as SentConsent);
        if (match.withheld) expect(decided.withheld).toBeDefined();
        if (match.consent === 'denied') expect(decided).toBe(match);
        if (decided.withheld) expect(decided.visit).toBeUndefined();
      }
  });

  it('changes nothing where none is stated', () => {
    expect(withSentConsent(matches.granted, undefined)).toBe(matches.granted);
  });
});
