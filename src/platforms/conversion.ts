import type { ClickKind, CookieKind, SentClickId } from './manifests.js';
import type { PersonalHashes } from './personal-hashes.js';

/** The conversion that platforms receive: everything known about it, without raw personal data. */
export interface Conversion {
  readonly id: string;
  /**
   * Identifies the conversion at the platform: the order id, else our own id. At platforms that deduplicate it against their browser
   * pixel (`deduplicatesPixel`), the id that its sender states for the pixel's event comes first.
   */
  readonly eventId: string;
  /** Our name of the event: purchase, lead, signup, or a custom one. */
  readonly event: string;
  readonly value?: number | undefined;
  /** ISO 4217, upper case. */
  readonly currency: string;
  readonly orderId?: string | undefined;
  /** When it occurred, as its sender states; otherwise when the service received it. Never later than that. */
  readonly timeMs: number;
  readonly source?: ConversionSource | undefined;
  readonly items?: readonly Item[] | undefined;
  readonly hashes: PersonalHashes;
  /** The sender's id of the customer, plain: platforms differ in how they hash it. */
  readonly externalId?: string | undefined;
  readonly address?: Address | undefined;
  /** By the sender's name of each, for custom fields. */
  readonly custom?: Custom | undefined;
  /**
   * The matched visit, with what the sender stated about the customer's browser in place of what is stored. Absent when there is
   * neither, and when consent withholds them: the conversion is then sent as a CRM event.
   */
  readonly visit?: Visit | undefined;
  /** As the sender stated them, for ids that are no clicks, such as `lead_id`: clicks are in `visit`. Withheld as a visit is. */
  readonly clickIds?: SentClickIds | undefined;
  /** `unknown`: no consent was recorded, or it could not be read. */
  readonly consent: 'granted' | 'denied' | 'unknown';
  /** Consent to personalised advertising, where a platform has a field for it; undefined if it is not known. */
  readonly personalization?: 'granted' | 'denied' | undefined;
  /** As the sender stated it for this conversion. `consent` and `personalization` take it into account. */
  readonly sentConsent?: SentConsent | undefined;
  /** Nothing personal is left of it: the person has not consented, and the site withholds everything personal. */
  readonly isAnonymous?: true | undefined;
  /** See `payload-version.ts`. */
  readonly payloadVersion: number;
}

/**
 * The order that a correction refers to: its conversion, and what is left of its value. It depends only on events up to the
 * correction, and is therefore the same in every attempt.
 */
export interface CorrectedOrder {
  /** The event id that the platform accepted the conversion with. */
  readonly eventId: string;
  /** Our name of the event that is corrected. */
  readonly event: string;
  readonly currency: string;
  /** When the conversion occurred. */
  readonly timeMs: number;
  /** When the platform accepted it; undefined: it has not yet. */
  readonly settledMs?: number | undefined;
  /** What this correction refunds; undefined if the value of the order is not known. */
  readonly refunded?: number | undefined;
  /** The value of the order after this correction and all earlier ones; 0: it is refunded completely. */
  readonly remaining: number;
  /** When it is corrected, in whole seconds: later than the conversion and all earlier corrections. */
  readonly correctedMs: number;
}

/** Where a conversion happened. */
export const CONVERSION_SOURCES = ['website', 'phone_call', 'physical_store', 'email', 'app', 'crm', 'other'] as const;
export type ConversionSource = (typeof CONVERSION_SOURCES)[number];

/** The fields of Google's Consent Mode v2. */
export const CONSENT_FIELDS = ['ad_storage', 'ad_user_data', 'ad_personalization', 'analytics_storage'] as const;
export type SentConsent = Readonly<Partial<Record<(typeof CONSENT_FIELDS)[number], 'granted' | 'denied'>>>;

/** Values that only the sender knows the meaning of, such as the profit or a coupon. */
export type Custom = Readonly<Record<string, string | number | boolean>>;

export type SentClickIds = Readonly<Partial<Record<SentClickId, string>>>;

/** A line of an order. */
export interface Item {
  readonly id: string;
  readonly name?: string;
  /** A whole number, at least 1. */
  readonly quantity?: number;
  /** Price of one unit, in the currency of the conversion. */
  readonly price?: number;
  readonly category?: string;
}

/**
 * The customer's address, as sent, but without needless white space and with the letters of a state instead of its name. Plain,
 * because platforms differ: Google requires postal code and country plain, TikTok city and region too, the others hash them, each
 * in its own form.
 */
export interface Address {
  readonly city?: string;
  readonly region?: string;
  readonly postalCode?: string;
  /** ISO 3166 alpha-2, upper case. */
  readonly country?: string;
}

/** What the browser tag recorded, or a sender stated, raw and with its case preserved. */
export interface Visit {
  readonly pageUrl?: string | undefined;
  readonly referrer?: string | undefined;
  readonly ip?: string | undefined;
  readonly userAgent?: string | undefined;
  /** Random id, generated by the tag. */
  readonly visitorId?: string | undefined;
  /** The newest valid click of each kind. */
  readonly clicks: Readonly<Partial<Record<ClickKind, Click>>>;
  /** By the cookie's usual name. */
  readonly cookies: Readonly<Partial<Record<CookieKind, string>>>;
  /** By the parameter's name without `utm_`: source, medium, campaign, term, content, id, … */
  readonly utm: Readonly<Record<string, string>>;
}

export interface Click {
  readonly id: string;
  /** When the click was first recorded; the time of the conversion if its sender stated the click without a time. */
  readonly timeMs: number;
}
