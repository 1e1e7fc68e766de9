import { withSentIdentifiers } from '../delivery/payload/sent-identifiers.js';
import type { ConversionPersonal } from '../events/conversion.events.js';
import type { Visit } from '../platforms/conversion.js';

/** Longer texts of a campaign are cut: a visitor can invent any. */
const TEXT_MAX = 100;

/** Where a conversion came from, as far as it is known, and what it carried. */
export interface Attribution {
  /** The four are empty where there is none. */
  readonly source: string;
  readonly medium: string;
  readonly campaign: string;
  /** Kind of the newest click id. */
  readonly click: string;
  /** Names of the identifiers that it carried. Click ids and cookies by their kind. */
  readonly identifiers: readonly string[];
}

export function attributionOf(personal: ConversionPersonal, timeMs: number): Attribution {
  const visit = withSentIdentifiers(personal.visit, personal, timeMs);
  const { source, medium, campaign } = visit?.utm ?? {};
  return {
    source: cut(source),
    medium: cut(medium),
    campaign: cut(campaign),
    click: visit ? newestClick(visit) : '',
    identifiers: carriedIdentifiers(personal, visit),
  };
}

function newestClick({ clicks }: Visit): string {
  let newest = '';
  let newestMs = Number.NEGATIVE_INFINITY;
  for (const [kind, { timeMs }] of Object.entries(clicks)) {
    // The first one by name, if two clicks have the same time, whatever order they are stored in.
    if (timeMs < newestMs || (timeMs === newestMs && kind > newest)) continue;
    newest = kind;
    newestMs = timeMs;
  }
  return newest;
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
  add('city', address?.city ?? personal.city);
  add('region', address?.region ?? personal.region);
  add('postal_code', address?.postalCode ?? personal.postalCode);
  add('country', address?.country ?? personal.country);
  if (visit) {
    add('ip_address', visit.ip);
    add('user_agent', visit.userAgent);
    for (const [kind, click] of Object.entries(visit.clicks)) add(kind, click);
    for (const [kind, cookie] of Object.entries(visit.cookies)) add(kind, cookie);
  }
  return names;
}

function cut(text: string | undefined): string {
  if (!text) return '';
  const short = text.length <= TEXT_MAX ? text : [...text.slice(0, 2 * TEXT_MAX)].slice(0, TEXT_MAX).join('');
  // PostgreSQL stores neither of them as text.
  return /[\p{Cs}\0]/u.test(short) ? short.replace(/[\p{Cs}\0]/gu, '\ufffd') : short;
}
