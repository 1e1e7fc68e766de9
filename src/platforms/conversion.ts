import type { PersonalHashes } from './personal-hashes.js';

/** What platforms are told about: a sale that happened, with all that is known of it and no raw personal value. */
export interface Conversion {
  readonly id: string;
  /** Tells it apart at the platform, and from a browser pixel's report of the same sale: the order, else our own id. */
  readonly eventId: string;
  /** Our name of the event: purchase, lead, signup, or any other. */
  readonly event: string;
  readonly value?: number | undefined;
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly orderId?: string | undefined;
  /** When we received it. */
  readonly timeMs: number;
  readonly hashes: PersonalHashes;
  /** The visit it was joined to. Absent when there was none, and when consent withholds it: then it is a CRM's event. */
  readonly visit?: Visit | undefined;
  /** `unknown`: nothing was said, or it could not be read. */
  readonly consent: 'granted' | 'denied' | 'unknown';
}

/** What the browser tag saw, raw and case-preserved. */
export interface Visit {
  /** The page of the visit. */
  readonly pageUrl?: string | undefined;
  readonly referrer?: string | undefined;
  readonly ip?: string | undefined;
  readonly userAgent?: string | undefined;
  /** Random, the tag's own. */
  readonly visitorId?: string | undefined;
  /** The newest valid one of each kind. */
  readonly clicks: Readonly<Partial<Record<ClickKind, Click>>>;
  /** By the cookie's usual name. */
  readonly cookies: Readonly<Partial<Record<CookieKind, string>>>;
  /** By the parameter's name without `utm_`: source, medium, campaign, term, content, id, … */
  readonly utm: Readonly<Record<string, string>>;
}

export interface Click {
  readonly id: string;
  /** When the click was first seen. */
  readonly timeMs: number;
}

export type ClickKind =
  | 'gclid'
  | 'gbraid'
  | 'wbraid'
  | 'dclid'
  | 'fbclid'
  | 'ttclid'
  | 'msclkid'
  | 'twclid'
  | 'li_fat_id'
  | 'sccid'
  | 'rdt_cid'
  | 'epik';

/** `_ga` is the client id alone (`AAA.BBB`), `_ga_session` the session's; the others are the cookie as it is. */
export type CookieKind = '_fbp' | '_ttp' | '_ga' | '_ga_session' | '_uetvid' | '_scid' | '_rdt_uuid';
