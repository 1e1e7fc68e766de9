import { type WithheldReason } from '../events/conversion.events.js';
import { type ConsentState } from '../events/visitor.events.js';

const FIELDS = ['ad_storage', 'ad_user_data', 'ad_personalization', 'analytics_storage'] as const;

/** Reads untrusted input; undefined when it contains no valid field. */
export function readConsent(value: unknown): ConsentState | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const input = value as Record<string, unknown>;
  const state: Record<string, unknown> = {};
  for (const field of FIELDS) if (input[field] === 'granted' || input[field] === 'denied') state[field] = input[field];
  if (input['gpc'] === true) state['gpc'] = true;
  return Object.keys(state).length > 0 ? state : undefined;
}

/**
 * Consent to advertising: denied when any relevant field denies it, granted when both grant it. Fields about analytics or
 * personalisation alone leave it unknown.
 */
export function meaningOf(state: ConsentState | undefined): 'granted' | 'denied' | 'unknown' {
  if (!state) return 'unknown';
  const values = [state.ad_storage, state.ad_user_data];
  if (state.gpc || values.includes('denied')) return 'denied';
  return values.every((value) => value === 'granted') ? 'granted' : 'unknown';
}

export interface ConsentDecision {
  /** The value that platforms receive. */
  readonly consent: 'granted' | 'denied' | 'unknown';
  readonly withheld?: WithheldReason;
}

/** `unreadable`: the consent record could not be read. */
export function decideConsent(state: ConsentState | undefined | 'unreadable', isRequired: boolean): ConsentDecision {
  if (state === 'unreadable') return { consent: 'unknown', withheld: 'consent_unreadable' };
  const consent = meaningOf(state);
  if (consent === 'denied') return { consent, withheld: 'opted_out' };
  if (consent === 'unknown' && isRequired) return { consent: 'denied', withheld: 'consent_missing' };
  return { consent };
}
