/** The words for what became of a conversion or of a delivery, for people. Stored and public values have other names. */
export const OUTCOME_WORDS = [
  ['delivered', 'the platform took it, and nothing more is to come'],
  ['accepted', 'the platform took it, and will say later, or never, whether it counts'],
  ['confirmed', 'the platform has said that it counts'],
  ['refused', 'the platform said no for good'],
  ['waiting', 'it will be tried, or tried again'],
  ['not sent', 'decided here: consent, mapping, age, or a missing identifier'],
  ['filtered', 'not counted: the rules of the site remove it'],
  ['duplicate', 'not counted: another conversion is it already'],
  ['checked', 'sent with a trial key: the payload was checked, and nothing left'],
] as const;

export type OutcomeWord = (typeof OUTCOME_WORDS)[number][0];

/** The words as the API and addresses of pages have them. */
export type Outcome = Exclude<OutcomeWord, 'not sent'> | 'not_sent';

export const outcomeOf = (word: OutcomeWord): Outcome => (word === 'not sent' ? 'not_sent' : word);

export const OUTCOMES: readonly Outcome[] = OUTCOME_WORDS.map(([word]) => outcomeOf(word));

const WORD_OF: Readonly<Record<string, OutcomeWord>> = {
  delivered: 'delivered',
  accepted: 'accepted',
  confirmed: 'confirmed',
  failed: 'refused',
  rejected: 'refused',
  queued: 'waiting',
  deferred: 'waiting',
  pending: 'waiting',
  skipped: 'not sent',
  filtered: 'filtered',
  deduplicated: 'duplicate',
  validated: 'checked',
};

/** Reasons of a failure that the platform has not given. */
const OWN_REASONS: readonly string[] = ['gave_up', 'disconnected', 'account_disconnected', 'address_refused'];

/** The word for a status, as events and the API have it. One that is not known stays as it is. */
export function outcomeWord(status: string, reason?: string): string {
  if (status === 'failed' && reason !== undefined && OWN_REASONS.includes(reason)) return 'not sent';
  return Object.hasOwn(WORD_OF, status) ? (WORD_OF[status] as OutcomeWord) : status;
}
