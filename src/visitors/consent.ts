import { type WithheldReason } from '../events/conversion.events.js';
import { type ConsentState } from '../events/visitor.events.js';
import { CONSENT_FIELDS } from '../platforms/conversion.js';

/** Makers of consent statements that are not single visitors, in hex. `cc.consent` has one row of each for a person. */
export const OPERATOR = '00';
/** Visitors that no later call can prove to be. They share one row, which holds their last denial. */
export const UNRECOGNISED = '01';
/** Visitors that cannot be recognised again and have not decided, on pages that deny by default. They share one row. */
export const UNDECIDED = '02';

/** Reads untrusted input; undefined when it contains no valid field. */
export function readConsent(value: unknown): ConsentState | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const input = value as Record<string, unknown>;
  const state: Record<string, unknown> = {};
  for (const field of CONSENT_FIELDS)
    if (input[field] === 'granted' || input[field] === 'denied') state[field] = input[field];
  if (input['gpc'] === true) state['gpc'] = true;
  // Global Privacy Control is a decision.
  else if (input['undecided'] === true && Object.values(state).includes('denied')) state['undecided'] = true;
  return Object.keys(state).length > 0 ? state : undefined;
}

export type ConsentMeaning = 'granted' | 'denied' | 'undecided' | 'unknown';

/**
 * Consent to advertising: denied when any relevant field denies it, granted when both grant it. Fields about analytics or
 * personalisation alone leave it unknown. What a page denies by default is undecided, whatever the visitor granted of it.
 */
export function meaningOf(state: ConsentState | undefined): ConsentMeaning {
  if (!state) return 'unknown';
  const values = [state.ad_storage, state.ad_user_data];
  if (state.gpc) return 'denied';
  if (values.includes('denied')) return state.undecided ? 'undecided' : 'denied';
  return values.every((value) => value === 'granted') ? 'granted' : 'unknown';
}

/** Whether anything about a visit may be stored in the service and in the browser. */
export function mayStoreVisit(state: ConsentState | undefined, isRequired: boolean): boolean {
  const consent = meaningOf(state);
  return consent === 'granted' || (consent === 'unknown' && !isRequired);
}

/** The last statement of a speaker; `speaker` is in hex. */
export type StoredStatement = readonly [speaker: string, position: number, state: ConsentState];

export interface ConsentDecision {
  /** The value that platforms receive. */
  readonly consent: 'granted' | 'denied' | 'unknown';
  readonly withheld?: WithheldReason;
  /** Consent to personalised advertising, which a person can decline separately; undefined if it is not known. */
  readonly personalization?: 'granted' | 'denied' | undefined;
}

/** A visitor that contributed to a person's record. */
export interface ConsentingVisitor {
  /** Empty for what version 0.2 and earlier stored; its statements have an empty speaker. */
  readonly id: string;
  readonly visit: { readonly speaker?: string | undefined; readonly granted?: true | undefined } | undefined;
}

/**
 * Consent of a person with several visitors. A denial by any of them counts. None of them widens it: consent is granted only if
 * all that contributed granted it. An operator's statement replaces all earlier ones. That a visitor is undecided counts while
 * nothing newer is stated, and not after an operator's grant.
 */
export function decideConsent(
  stored: readonly StoredStatement[] | 'unreadable',
  visitors: readonly ConsentingVisitor[],
  isRequired: boolean,
): ConsentDecision {
  if (stored === 'unreadable') return { consent: 'unknown', withheld: 'consent_unreadable' };
  const undecidedAt = newestUndecided(stored);
  const statements = undecidedAt < 0 ? stored : stored.filter((statement) => !isUndecided(statement));
  const operator = statements.find(([speaker]) => speaker === OPERATOR);
  const later = statements.filter(([, position]) => !operator || position > operator[1]);
  const ruling = meaningOf(operator?.[2]);
  if (ruling === 'denied' || later.some(([, , state]) => meaningOf(state) === 'denied'))
    return { consent: 'denied', withheld: 'opted_out' };
  const stated = [...(operator ? [operator] : []), ...later].map(([, , state]) => state.ad_personalization);
  const personalization = stated.includes('denied') ? ({ personalization: 'denied' } as const) : undefined;
  if (ruling === 'granted') return { consent: 'granted', ...(personalization ?? grantedBy([operator?.[2]])) };
  if (undecidedAt >= 0 && statements.every(([, position]) => position < undecidedAt))
    return { consent: 'denied', withheld: 'undecided' };
  const contributing = visitors.filter(({ visit }) => visit !== undefined);
  const meanings =
    contributing.length > 0
      ? contributing.map((visitor) => ownConsent(visitor, statements))
      : statements.map(([, , state]) => meaningOf(state));
  if (meanings.length > 0 && meanings.every((meaning) => meaning === 'granted')) {
    const own = contributing.length > 0 ? contributing.map((visitor) => ownStatement(visitor, statements)) : statements;
    return { consent: 'granted', ...(personalization ?? grantedBy(own.map((statement) => statement?.[2]))) };
  }
  return isRequired ? { consent: 'denied', withheld: 'consent_missing' } : { consent: 'unknown', ...personalization };
}

function isUndecided([, , state]: StoredStatement): boolean {
  return meaningOf(state) === 'undecided';
}

/** Its position; negative if there is none. */
function newestUndecided(statements: readonly StoredStatement[]): number {
  let newest = -1;
  for (const statement of statements) if (isUndecided(statement)) newest = Math.max(newest, statement[1]);
  return newest;
}

/** Granted only if all of them say so. */
function grantedBy(
  states: readonly (ConsentState | undefined)[],
): Pick<ConsentDecision, 'personalization'> | undefined {
  return states.every((state) => state?.ad_personalization === 'granted') ? { personalization: 'granted' } : undefined;
}

function ownStatement(
  { id, visit }: ConsentingVisitor,
  statements: readonly StoredStatement[],
): StoredStatement | undefined {
  return statements.find(([speaker]) => speaker === (id === '' ? '' : visit?.speaker));
}

function ownConsent(visitor: ConsentingVisitor, statements: readonly StoredStatement[]): ConsentMeaning {
  const own = ownStatement(visitor, statements);
  if (own) return meaningOf(own[2]);
  return visitor.visit?.granted ? 'granted' : 'unknown';
}
