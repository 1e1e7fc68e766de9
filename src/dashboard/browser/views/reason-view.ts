import { MANIFESTS } from '../../../platforms/manifests.js';

/** Reasons that the service gives, in words. */
const WORDS: Readonly<Record<string, string>> = {
  no_click_identifier: 'no click ID',
  no_identifier: 'no identifier that the platform accepts',
  no_client_identifier: 'no visit with a client ID',
  event_not_mapped: 'the event is not mapped',
  event_not_selected: 'the event is not selected',
  value_required: 'the platform requires a value',
  consent_denied: 'consent denied',
  too_old: 'too old for the platform',
  correction_not_supported: 'the platform has no corrections',
  order_unknown: 'no conversion of the order is known',
  order_not_sent: 'the platform does not have the conversion of the order',
  already_refunded: 'the order is refunded already',
  superseded: 'a later correction includes it',
  currency_differs: 'another currency than the order',
  too_many_corrections: 'too many corrections of the order',
  timeout: 'no answer in time',
  throttled: 'throttled by the platform',
  server_error: 'error at the platform',
  network_error: 'the platform could not be reached',
  authorization: 'the platform refuses the credentials',
  paused: 'the connection is paused',
  circuit_open: 'attempts are suspended while the platform fails',
  pending: 'no outcome yet',
  order_pending: 'waits for the conversion of the order',
  identifier_refused: 'sent again without an identifier that the platform refused',
  gave_up: 'given up, too old for the platform',
  disconnected: 'the connection was disconnected',
  account_disconnected: 'its account is no longer connected',
};

/** What happens next to a delivery with this status: a platform that accepted it is asked whether it counts. */
export function nextStep(status: string): string {
  return status === 'accepted' ? 'confirmation' : 'next attempt';
}

/** What a platform said stays as it is. Where the platform is known, the text says what it needs. */
export function reasonText(reason: string, connection?: string): string {
  if (!Object.hasOwn(WORDS, reason)) return reason;
  const needed = reason === 'no_identifier' && connection !== undefined ? neededBy(connection) : undefined;
  return needed ?? (WORDS[reason] as string);
}

const IDENTIFIERS = {
  email: 'an email',
  phone: 'a phone number',
  external_id: 'an external ID',
  click_id: 'a click ID of its own',
} as const;

/** What a conversion that states nothing else about its person must have. */
function neededBy(connection: string): string | undefined {
  const manifest = MANIFESTS.find(({ name }) => name === connection.split(':')[0]);
  if (!manifest) return undefined;
  const [last, ...others] = manifest.sufficient.map((identifier) => IDENTIFIERS[identifier]).reverse();
  if (last === undefined) return undefined;
  const list = others.length > 0 ? `${others.reverse().join(', ')} or ${last}` : last;
  return `no identifier that ${manifest.label} accepts: it needs ${list}`;
}
