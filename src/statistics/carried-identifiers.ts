import { withSentIdentifiers } from '../delivery/sent-identifiers.js';
import type { ConversionPersonal } from '../events/conversion.events.js';
import type { Visit } from '../platforms/conversion.js';

/** Longer texts of a campaign are cut: a visitor can invent any. */
const TEXT_MAX = 100;

/** Where a conversion came from, as far as it is known. */
export interface Origin {
  readonly source: string | null;
  readonly medium: string | null;
  readonly campaign: string | null;
  /** Kind of the newest click id. */
  readonly click: string | null;
}

export function originOf(personal: ConversionPersonal, timeMs: number): Origin {
  const { utm = {}, clicks = {} } = withSentIdentifiers(personal.visit, personal, timeMs) ?? {};
  const [newest] = Object.entries(clicks).sort(
    ([one, { timeMs }], [other, { timeMs: otherMs }]) => otherMs - timeMs || (one < other ? -1 : 1),
  );
  const { source, medium, campaign } = utm;
  return { source: cut(source), medium: cut(medium), campaign: cut(campaign), click: newest?.[0] ?? null };
}

/** Names of the identifiers that a conversion carries, sorted. Click ids and cookies by their kind. */
export function carriedIdentifiers(personal: ConversionPersonal, timeMs: number): string[] {
  const visit: Visit | undefined = withSentIdentifiers(personal.visit, personal, timeMs);
  const { phone, firstName, lastName, externalId, address = {} } = personal;
  const fields = {
    email: personal.subject,
    phone,
    first_name: firstName,
    last_name: lastName,
    external_id: externalId,
    city: address.city,
    region: address.region,
    postal_code: address.postalCode,
    country: address.country,
    ip_address: visit?.ip,
    user_agent: visit?.userAgent,
    ...visit?.clicks,
    ...visit?.cookies,
  };
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name]) => name)
    .sort();
}

function cut(text: string | undefined): string | null {
  return text ? [...text.slice(0, 2 * TEXT_MAX)].slice(0, TEXT_MAX).join('') : null;
}
