/** A visitor's consent in the four fields of Google Consent Mode v2. */
export type Consent = Partial<Record<(typeof FIELDS)[number], Answer>>;
type Answer = 'granted' | 'denied';

export const FIELDS = ['ad_storage', 'ad_user_data', 'ad_personalization', 'analytics_storage'] as const;

/** The strings `granted` and `denied` apply to all four fields. Unknown fields and values are ignored. */
export function parseConsent(input: unknown): Consent {
  const consent: Consent = {};
  for (const field of FIELDS) {
    const answer = typeof input === 'string' ? input : ((input || {}) as Consent)[field];
    if (answer === 'granted' || answer === 'denied') consent[field] = answer;
  }
  return consent;
}

/** Denying either of the two fields that cover this tag is an opt-out. Consent is granted only when both are. */
export function consentStatus({ ad_storage, ad_user_data }: Consent): 'granted' | 'denied' | 'unknown' {
  if (ad_storage === 'denied' || ad_user_data === 'denied') return 'denied';
  return ad_storage && ad_user_data ? 'granted' : 'unknown';
}

/**
 * A page's default counts only where it denies: it is not the visitor's consent. A regional default delays storing everywhere,
 * because the tag does not know where the visitor is.
 */
export function deniedFields(defaults: Consent): Consent {
  const denials: Consent = {};
  for (const field of FIELDS) if (defaults[field] === 'denied') denials[field] = 'denied';
  return denials;
}

/** Where the defaults of a page deny. Regions are what the page names them, such as DE or US-CA. */
export interface DefaultRegions {
  denied?: unknown[];
  granted?: unknown[];
  /** In all regions that are not named. */
  elsewhere?: true;
}

/** Adds a default of the page with the regions that it is limited to, if it is. */
export function addRegions(regions: DefaultRegions, status: ReturnType<typeof consentStatus>, named: unknown): void {
  if (status === 'unknown') return;
  if (named) regions[status] = ([] as unknown[]).concat(regions[status] || [], named);
  else if (status === 'denied') regions.elsewhere = true;
}
