import { withSentIdentifiers } from '../delivery/sent-identifiers.js';
import type { ConversionPersonal } from '../events/conversion.events.js';
import type { Visit } from '../platforms/conversion.js';

/** Longer texts of a campaign are cut: a visitor can invent any. */
const TEXT_MAX = 100;

/** Where a conversion came from, as far as it is known, and what it carried. */
export interface Attribution {
  readonly source: string | null;
  readonly medium: string | null;
  readonly campaign: string | null;
  /** Kind of the newest click id. */
  readonly click: string | null;
  /** Names of the identifiers that it carried, sorted. Click ids and cookies by their kind. */
  readonly identifiers: readonly string[];
}

export function attributionOf(personal: ConversionPersonal, timeMs: number): Attribution {
  const visit = withSentIdentifiers(personal.visit, personal, timeMs);
  const { source, medium, campaign } = visit?.utm ?? {};
  return {
    source: cut(source),
    medium: cut(medium),
    campaign: cut(campaign),
    click: visit ? newestClick(visit) : null,
    identifiers: carriedIdentifiers(personal, visit),
  };
}

function newestClick({ clicks }: Visit): string | null {
  let newest: { readonly kind: string; readonly timeMs: number } | undefined;
  // Of two clicks with the same time the first by name, whatever order they are stored in.
  for (const [kind, { timeMs }] of Object.entries(clicks).sort(([one], [other]) => (one < other ? -1 : 1)))
    if (!newest || timeMs > newest.timeMs) newest = { kind, timeMs };
  return newest?.kind ?? null;
}

function carriedIdentifiers(personal: ConversionPersonal, visit: Visit | undefined): string[] {
  const names: string[] = [];
  const add = (name: string, value: unknown) => {
    if (value) names.push(name);
  };
  const { subject, phone, firstName, lastName, externalId, address } = personal;
  add('email', subject);
  add('phone', phone);
  add('first_name', firstName);
  add('last_name', lastName);
  add('external_id', externalId);
  if (address) {
    add('city', address.city);
    add('region', address.region);
    add('postal_code', address.postalCode);
    add('country', address.country);
  }
  if (visit) {
    add('ip_address', visit.ip);
    add('user_agent', visit.userAgent);
    for (const [kind, click] of Object.entries(visit.clicks)) add(kind, click);
    for (const [kind, cookie] of Object.entries(visit.cookies)) add(kind, cookie);
  }
  return names.sort();
}

function cut(text: string | undefined): string | null {
  if (!text) return null;
  return text.length <= TEXT_MAX ? text : [...text.slice(0, 2 * TEXT_MAX)].slice(0, TEXT_MAX).join('');
}
