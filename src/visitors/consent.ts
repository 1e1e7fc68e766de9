import { type WithheldReason } from '../events/conversion.events.js';
import { type ConsentState } from '../events/visitor.events.js';

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

export interface ConsentDecision {
  /** What platforms are told. */
  readonly consent: 'granted' | 'denied' | 'unknown';
  readonly withheld?: WithheldReason;
}

/** `state` is `unreadable` where the record could not be read. */
export function decideConsent(state: ConsentState | undefined | 'unreadable', isRequired: boolean): ConsentDecision {
  if (state === 'unreadable') return { consent: 'unknown', withheld: 'consent_unreadable' };
  const consent = meaningOf(state);
  if (consent === 'denied') return { consent, withheld: 'opted_out' };
  if (consent === 'unknown' && isRequired) return { consent: 'denied', withheld: 'consent_missing' };
  return { consent };
}
