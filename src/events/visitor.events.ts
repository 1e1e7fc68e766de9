import { count, type DataSchema, type JsonSchema, type SchemasOf, strings, time, uuid } from './event-schema.js';

/** Category of the streams that hold one call of the browser tag and later verdicts about it. */
export const VISITOR = 'visitor';

export type ConsentValue = 'granted' | 'denied';

/** The fields of Google Consent Mode v2, to which the tag maps every consent signal, and Global Privacy Control. */
export interface ConsentState {
  readonly ad_storage?: ConsentValue;
  readonly ad_user_data?: ConsentValue;
  readonly ad_personalization?: ConsentValue;
  readonly analytics_storage?: ConsentValue;
  readonly gpc?: true;
}

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

export interface BotVerdict {
  /** 0 to 100: likelihood of a bot. */
  readonly score: number;
  readonly reasons: readonly BotReason[];
  /** Versions of the bot list and of the rules. */
  readonly list: string;
}

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

export interface VisitData {
  readonly visit: string;
  /** Kinds of click ids that the visit brought. */
  readonly clicks: readonly string[];
  readonly campaign: boolean;
  readonly consent?: ConsentState | undefined;
  readonly bot: BotVerdict;
}

/** Personal part of a visit's event. `subject` is the email's hash once the visitor is identified, the visitor id before. */
export interface VisitPersonal {
  readonly subject: string;
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
export interface ConsentPersonal {
  readonly subject: string;
  /** Absent in events of version 0.2 and earlier, and for operators. `unrecognised`: no later call can prove to be the same visitor. */
  readonly speaker?: string | 'unrecognised' | undefined;
  readonly visitor?: string | undefined;
}

type BotMode = 'observe' | 'enforce';

export type VisitorEvent =
  /** A landing with click ids or campaign fields. */
  | { type: 'visitor.visited.v1'; data: VisitData; personal: VisitPersonal }
  /** The visitor gave an email: the visit now belongs to a known person. */
  | { type: 'visitor.identified.v1'; data: VisitData; personal: VisitPersonal }
  | {
      type: 'visitor.consent_changed.v1';
      data: { visit?: string | undefined; consent: ConsentState; operator?: true };
      personal: ConsentPersonal;
    }
  /** At most one per visit. */
  | {
      type: 'visitor.bot_detected.v1';
      data: { visit: string; mode: BotMode } & BotVerdict;
      personal: { readonly subject: string };
    }
  /** Scored again, with another bot list. `from` is the earlier score, `seenAt` the time of the visit. */
  | {
      type: 'visitor.rejudged.v1';
      data: { bot: BotVerdict; mode: BotMode; from: number; seenAt: string };
      personal: { readonly subject: string; readonly visitor?: string | undefined };
    }
  /**
   * A data subject was erased, or visits for which no email was given expired (`unidentified`). Holds counts only, nothing about
   * the person.
   */
  | { type: 'visitor.erased.v1'; data: { events: number; identifiers: number; claims: number; unidentified?: true } };

const consentValue: JsonSchema = { type: 'string', enum: ['granted', 'denied'] };
const visit: JsonSchema = { ...uuid, description: 'Random id of the visit.' };
const mode: JsonSchema = {
  type: 'string',
  enum: ['observe', 'enforce'],
  description: "The site's bot mode at that time.",
};

const consentSchema: DataSchema<ConsentState> = {
  type: 'object',
  description: 'Consent in the fields of Google Consent Mode v2; gpc: Global Privacy Control.',
  properties: {
    ad_storage: consentValue,
    ad_user_data: consentValue,
    ad_personalization: consentValue,
    analytics_storage: consentValue,
    gpc: { type: 'boolean', const: true },
  },
  required: [],
  additionalProperties: false,
};

const verdict: DataSchema<BotVerdict>['properties'] = {
  score: { type: 'integer', minimum: 0, maximum: 100, description: 'Likelihood of a bot.' },
  reasons: strings,
  list: { type: 'string', description: 'Versions of the bot list and of the rules.' },
};
const required = ['score', 'reasons', 'list'] as const;

export const botVerdictSchema: DataSchema<BotVerdict> = {
  type: 'object',
  properties: verdict,
  required,
  additionalProperties: false,
};

const visited: DataSchema<VisitData> = {
  type: 'object',
  properties: {
    visit,
    clicks: { ...strings, description: 'Kinds of click ids that the visit brought.' },
    campaign: { type: 'boolean', description: 'Whether the visit brought UTM fields.' },
    consent: consentSchema,
    bot: botVerdictSchema,
  },
  required: ['visit', 'clicks', 'campaign', 'bot'],
  additionalProperties: false,
};

export const visitorSchemas: SchemasOf<VisitorEvent> = {
  'visitor.visited.v1': { summary: 'A landing with click ids or campaign fields.', data: visited },
  'visitor.identified.v1': { summary: 'A visitor gave an email: the visit now belongs to a person.', data: visited },
  'visitor.consent_changed.v1': {
    summary: 'A visitor or an operator changed consent.',
    data: {
      type: 'object',
      properties: {
        visit,
        consent: consentSchema,
        operator: { type: 'boolean', const: true, description: 'Stated by an operator.' },
      },
      required: ['consent'],
      additionalProperties: false,
    },
  },
  'visitor.bot_detected.v1': {
    summary: 'A visit was classified as a bot. At most one per visit.',
    data: {
      type: 'object',
      properties: { visit, mode, ...verdict },
      required: ['visit', 'mode', ...required],
      additionalProperties: false,
    },
  },
  'visitor.rejudged.v1': {
    summary: 'A visit was scored again, with another bot list or other rules.',
    data: {
      type: 'object',
      properties: {
        bot: botVerdictSchema,
        mode,
        from: { ...count, description: 'The earlier score.' },
        seenAt: { ...time, description: 'Time of the visit.' },
      },
      required: ['bot', 'mode', 'from', 'seenAt'],
      additionalProperties: false,
    },
  },
  'visitor.erased.v1': {
    summary:
      'A data subject was erased, or visits without an email expired. Holds counts only, nothing about the person.',
    data: {
      type: 'object',
      properties: {
        events: count,
        identifiers: count,
        claims: count,
        unidentified: { type: 'boolean', const: true, description: 'Visits for which no email was given expired.' },
      },
      required: ['events', 'identifiers', 'claims'],
      additionalProperties: false,
    },
  },
};
