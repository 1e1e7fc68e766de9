import type { ConversionData } from '../../events/conversion.events.js';
import type { SiteSettings } from '../../events/site.events.js';
import type { Conversion, SentConsent } from '../../platforms/conversion.js';
import type { PersonalHashes } from '../../platforms/personal-hashes.js';

/** What a site withholds of conversions without consent. */
export type Withhold = SiteSettings['withhold'];

/** What may leave of such a conversion. What is stored about visits is not part of it in any case. */
export type Leaving = 'what_was_sent' | 'nothing_personal' | 'nothing';

/** Of a conversion without consent; the only place that decides it. */
export function leavingOf(withhold: Withhold | undefined, takesAnonymous: () => boolean): Leaving {
  switch (withhold) {
    case 'personal':
      return takesAnonymous() ? 'nothing_personal' : 'nothing';
    case 'everything':
      return 'nothing';
    default:
      return 'what_was_sent';
  }
}

const NO_HASHES = {} as PersonalHashes;

/** Names what stays, so that a new field of a conversion does not leave. Custom values are the sender's text, and may be personal. */
export function withoutPerson(conversion: Conversion): Conversion {
  const { id, eventId, event, value, currency, orderId, timeMs, source, items, payloadVersion } = conversion;
  const { consent, sentConsent } = conversion;
  return {
    ...{ id, eventId, event, value, currency, orderId, timeMs, source, items, payloadVersion },
    ...{ consent, sentConsent, hashes: NO_HASHES, isAnonymous: true },
  };
}

/** What platforms are told of the consent that the sender states: never more than was decided. */
export function effectiveConsent(
  sent: SentConsent,
  { consent, withheld, personalization }: Pick<ConversionData, 'consent' | 'withheld' | 'personalization'>,
): SentConsent {
  const told: { -readonly [Field in keyof SentConsent]: SentConsent[Field] } = { ...sent };
  if (withheld !== undefined) for (const field of AD_FIELDS) if (told[field] === 'granted') delete told[field];
  if (consent === 'denied') Object.assign(told, { ad_storage: consent, ad_user_data: consent });
  if (personalization === 'denied') told.ad_personalization = personalization;
  return told;
}

const AD_FIELDS = ['ad_storage', 'ad_user_data', 'ad_personalization'] as const;
