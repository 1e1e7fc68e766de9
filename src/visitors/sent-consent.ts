import type { SentConsent } from '../platforms/conversion.js';
import { meaningOf } from './consent.js';
import type { Match } from './matcher.js';

/**
 * The match of a conversion whose sender states consent for it. That never permits more: a denial withholds what the person has
 * granted, a grant lifts nothing that is withheld, and is what platforms are told where nothing else is known.
 */
export function withSentConsent(match: Match, sent: SentConsent | undefined): Match {
  if (!sent || match.consent === 'denied') return match;
  const { visit, personalization, ...others } = match;
  const meaning = meaningOf(sent);
  if (meaning === 'denied') return { ...others, consent: meaning, withheld: 'denied_by_sender' };
  if (match.withheld) return match;
  const stated = personalization === 'denied' ? personalization : (sent.ad_personalization ?? personalization);
  return {
    ...others,
    visit,
    ...(match.consent === 'unknown' && meaning === 'granted' && { consent: meaning }),
    ...(stated && { personalization: stated }),
  };
}
