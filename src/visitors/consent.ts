/** The four fields of Google's Consent Mode v2, as the tag spells every signal, and Global Privacy Control. */
export interface ConsentState {
  readonly ad_storage?: ConsentWord;
  readonly ad_user_data?: ConsentWord;
  readonly ad_personalization?: ConsentWord;
  readonly analytics_storage?: ConsentWord;
  readonly gpc?: true;
}

export type ConsentWord = 'granted' | 'denied';

const FIELDS = ['ad_storage', 'ad_user_data', 'ad_personalization', 'analytics_storage'] as const;

/** From outside; undefined when it says nothing. */
export function readConsent(value: unknown): ConsentState | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const told = value as Record<string, unknown>;
  const state: Record<string, unknown> = {};
  for (const field of FIELDS) if (told[field] === 'granted' || told[field] === 'denied') state[field] = told[field];
  if (told['gpc'] === true) state['gpc'] = true;
  return Object.keys(state).length > 0 ? state : undefined;
}

/** What it comes to for advertising: one no is a no, a yes takes both. `unknown`: such as a word about analytics alone. */
export function meaningOf(state: ConsentState | undefined): 'granted' | 'denied' | 'unknown' {
  if (!state) return 'unknown';
  const words = [state.ad_storage, state.ad_user_data];
  if (state.gpc || words.includes('denied')) return 'denied';
  return words.every((word) => word === 'granted') ? 'granted' : 'unknown';
}

/** Why nothing that was stored about visits goes out with a conversion. */
export type Withheld =
  /** The person said no. */
  | 'opted_out'
  /** The site needs a yes, and there is none. */
  | 'consent_missing'
  /** It could not be found out: then it counts as a no, but is not told as one. */
  | 'consent_unreadable';

export interface ConsentDecision {
  /** What platforms are told. */
  readonly consent: 'granted' | 'denied' | 'unknown';
  readonly withheld?: Withheld;
}

/** `state` is `unreadable` where the record could not be read. */
export function decideConsent(state: ConsentState | undefined | 'unreadable', isRequired: boolean): ConsentDecision {
  if (state === 'unreadable') return { consent: 'unknown', withheld: 'consent_unreadable' };
  const consent = meaningOf(state);
  if (consent === 'denied') return { consent, withheld: 'opted_out' };
  if (consent === 'unknown' && isRequired) return { consent: 'denied', withheld: 'consent_missing' };
  return { consent };
}
