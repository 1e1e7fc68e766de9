/** What a visitor said, in the four fields of Google's Consent Mode v2. Pure. */
export type Consent = Partial<Record<(typeof FIELDS)[number], Answer>>;
type Answer = 'granted' | 'denied';

const FIELDS = ['ad_storage', 'ad_user_data', 'ad_personalization', 'analytics_storage'] as const;

/** `granted` and `denied` mean all four. What is neither an answer nor a known field is not heard. */
export function consentIn(said: unknown): Consent {
  const consent: Consent = {};
  for (const field of FIELDS) {
    const answer = typeof said === 'string' ? said : ((said || {}) as Consent)[field];
    if (answer === 'granted' || answer === 'denied') consent[field] = answer;
  }
  return consent;
}

/** Opted out: one of the two that cover what this tag does is denied. A yes takes both. */
export function standingOf({ ad_storage, ad_user_data }: Consent): 'granted' | 'denied' | 'unknown' {
  if (ad_storage === 'denied' || ad_user_data === 'denied') return 'denied';
  return ad_storage && ad_user_data ? 'granted' : 'unknown';
}

/**
 * A page's defaults bind only where they deny: a default is not the visitor's yes. One for a region counts everywhere,
 * because the tag does not know where the visitor is.
 */
export function denialsOf(defaults: Consent): Consent {
  const denials: Consent = {};
  for (const field of FIELDS) if (defaults[field] === 'denied') denials[field] = 'denied';
  return denials;
}
