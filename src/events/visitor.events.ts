import * as z from 'zod/mini';
import {
  count,
  type DataOf,
  described,
  type EventsOf,
  event,
  personal,
  strings,
  text,
  time,
  uuid,
  type ValueOf,
} from './event-declaration.js';
import type { NamedPerson } from './person-keys.js';

/** Category of the streams that hold one call of the browser tag and later verdicts about it. */
export const VISITOR = 'visitor';

const consentValue = z.enum(['granted', 'denied']);
export type ConsentValue = ValueOf<typeof consentValue>;

/** The tag maps every consent signal to these fields. */
const consent = described(
  z.strictObject({
    ad_storage: z.exactOptional(consentValue),
    ad_user_data: z.exactOptional(consentValue),
    ad_personalization: z.exactOptional(consentValue),
    analytics_storage: z.exactOptional(consentValue),
    gpc: z.exactOptional(z.literal(true)),
    undecided: z.exactOptional(z.literal(true)),
  }),
  'Consent in the fields of Google Consent Mode v2; gpc: Global Privacy Control; undecided: the denials are the default of the page.',
);
export type ConsentState = ValueOf<typeof consent>;

export type BotReason =
  | 'blocked_ip'
  | 'blocked_user_agent'
  | 'blocked_country'
  | 'declared_crawler'
  | 'http_client'
  | 'headless'
  | 'automation'
  | 'honeypot'
  | 'no_user_agent'
  | 'impossible_timing'
  | 'phone_without_touch'
  | 'odd_screen'
  | 'no_languages'
  | 'datacenter'
  | 'no_accept_language'
  | 'no_sec_fetch'
  | 'no_plugins'
  | 'allowed_ip';

const verdict = {
  score: described(z.int().check(z.minimum(0), z.maximum(100)), 'Likelihood of a bot.'),
  // The document does not list them: they become more with each version.
  reasons: strings as z.ZodMiniType<BotReason[]>,
  list: text('Versions of the bot list and of the rules.'),
};
export const botVerdict = z.strictObject(verdict);
export type BotVerdict = ValueOf<typeof botVerdict>;

/**
 * What the tag and the request reveal about a visit. Every field may be missing and none can be trusted: a signal can make a
 * visit suspicious, never trustworthy. A missing signal is not evidence of a bot.
 */
export interface VisitSignals {
  /** Empty: the request had no User-Agent. */
  readonly userAgent?: string;
  readonly ip?: string;
  /** Only from a trusted proxy. */
  readonly country?: string;
  /** Whether the request carried these headers. */
  readonly headers?: { readonly acceptLanguage?: boolean; readonly secFetch?: boolean };
  /** navigator.webdriver */
  readonly webdriver?: boolean;
  /** Names of globals that automation tools leave in the page. */
  readonly automation?: readonly string[];
  /** navigator.languages.length */
  readonly languages?: number;
  readonly screen?: readonly [number, number];
  readonly viewport?: readonly [number, number];
  /** navigator.maxTouchPoints */
  readonly touch?: number;
  readonly plugins?: number;
  /** Recorded but not scored: people open pages in background tabs. */
  readonly hidden?: boolean;
  /** From the start of the navigation until the tag ran. */
  readonly loadedMs?: number;
  /** From then until the form was submitted or identifyEmail was called; missing on a landing. */
  readonly submitMs?: number;
  /** Which of the two it was. Site code may call at any time, so the timing of a call is not scored. */
  readonly identifiedBy?: 'form' | 'call';
  /** Pointer, key, scroll and touch events before that. */
  readonly interactions?: number;
  /** A field with data-cc-honeypot was filled in. */
  readonly honeypot?: boolean;
}

export interface TagClick {
  readonly id: string;
  readonly timeMs: number;
  /** Landing page of the click. */
  readonly page?: string | undefined;
  /** When the service received the landing. Absent: the click was first reported with the email, or without a cookie. */
  readonly landedMs?: number | undefined;
}

/** A landing with campaign (UTM) fields. */
export interface Touch {
  readonly timeMs: number;
  readonly page?: string | undefined;
  readonly referrer?: string | undefined;
  readonly utm: Readonly<Record<string, string>>;
}

const visit = described(uuid, 'Random id of the visit.');
const visited = {
  visit,
  clicks: described(strings, 'Kinds of click ids that the visit brought.'),
  campaign: described(z.boolean(), 'Whether the visit brought UTM fields.'),
  consent: z.optional(consent),
  bot: botVerdict,
};
export type VisitData = DataOf<typeof visited>;

/** Personal part of a visit's event. `subject` is the email's hash once the visitor is identified, the visitor id before. */
export interface VisitPersonal extends NamedPerson {
  /** Id issued by the service. In events without `known`, from version 0.2 and earlier, the browser chose it. */
  readonly visitor?: string | undefined;
  /** Whether the call carried a valid visitor cookie. */
  readonly known?: boolean | undefined;
  /** When the service issued that cookie's id. */
  readonly sinceMs?: number | undefined;
  /** Random id chosen by the browser. It links visits for erasure and proves nothing. */
  readonly browser?: string | undefined;
  /** Id under which the visitor states consent, in hex; absent when it could not be recognised again. */
  readonly speaker?: string | undefined;
  readonly page?: string | undefined;
  readonly referrer?: string | undefined;
  /** The newest click id of each kind. */
  readonly clicks: Readonly<Partial<Record<string, TagClick>>>;
  readonly first?: Touch | undefined;
  readonly utm: Readonly<Record<string, string>>;
  readonly cookies: Readonly<Record<string, string>>;
  readonly signals: VisitSignals;
}

/** Personal part of a consent statement. */
export interface ConsentPersonal extends NamedPerson {
  /** Absent in events of version 0.2 and earlier, and for operators. `unrecognised`: no later call can prove to be the same visitor. */
  readonly speaker?: string | 'unrecognised' | undefined;
  readonly visitor?: string | undefined;
}

const mode = described(z.enum(['observe', 'enforce']), "The site's bot mode at that time.");

export const visitorEvents = {
  'visitor.visited.v1': event('A landing with click ids or campaign fields.', visited, personal<VisitPersonal>()),
  // Of a site that identifies people by more than an email. Not a visit of its own: it is found by the click id that is its person.
  'visitor.clicked.v1': event(
    'A landing that was recorded before, under one of its click ids: a conversion that states the click id is matched to it.',
    visited,
    personal<VisitPersonal>(),
  ),
  'visitor.identified.v1': event(
    'A visitor gave an email: the visit now belongs to a person.',
    visited,
    personal<VisitPersonal>(),
  ),
  'visitor.consent_changed.v1': event(
    'A visitor or an operator changed consent.',
    {
      visit: z.optional(visit),
      consent,
      operator: z.exactOptional(described(z.literal(true), 'Stated by an operator.')),
      europe: z.exactOptional(
        described(z.literal(true), 'From the EEA, the United Kingdom or Switzerland, as far as is known.'),
      ),
    },
    personal<ConsentPersonal>(),
  ),
  'visitor.bot_detected.v1': event(
    'A visit was classified as a bot. At most one per visit.',
    { visit, mode, ...verdict },
    personal<{ readonly subject: string }>(),
  ),
  'visitor.rejudged.v1': event(
    'A visit was scored again, with another bot list or other rules.',
    {
      bot: botVerdict,
      mode,
      from: described(count, 'The earlier score.'),
      seenAt: described(time, 'Time of the visit.'),
    },
    personal<NamedPerson & { readonly visitor?: string | undefined }>(),
  ),
  'visitor.erased.v1': event(
    'A data subject was erased, or personal parts expired. Holds counts only, nothing about the person.',
    {
      events: count,
      identifiers: count,
      claims: count,
      unidentified: z.exactOptional(described(z.literal(true), 'Visits for which no email was given expired.')),
      expired: z.exactOptional(described(z.literal(true), 'Personal parts were older than PERSONAL_RETENTION.')),
    },
  ),
};
export type VisitorEvent = EventsOf<typeof visitorEvents>;

/** Whether personal parts ended by their age, many at once, and no person was erased. */
export function isExpiry({
  unidentified,
  expired,
}: {
  readonly unidentified?: true;
  readonly expired?: true;
}): boolean {
  return unidentified === true || expired === true;
}
