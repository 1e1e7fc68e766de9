import type { OptionList } from './account-options.js';
import type { Conversion, ConversionSource, CorrectedOrder } from './conversion.js';
import type { Manifest } from './manifest.js';
import { MANIFESTS, type PlatformName } from './manifests.js';
import type { OptionalIdentifier } from './optional-identifiers.js';

/** In the order of a receipt. */
export const PLATFORM_NAMES = MANIFESTS.map(({ name }) => name);
export type { PlatformName };

/**
 * One advertising or analytics platform: which payload it receives, in which request, and what its answers mean. All
 * methods are pure functions; `delivery/` sends, waits, retries and records.
 */
export interface Platform extends Manifest {
  /** Of a platform that is built in, or of the definition it was compiled from. */
  readonly name: string;
  /** Undefined: it is built in. Connections keep it in a setting (`defined/compile.ts`). */
  readonly definition?: string;
  /** The settings of `platforms connect --set`, besides `events`, `event.<ours>` and `field.<theirs>`. */
  readonly fields: readonly Field[];
  /** Settings of a connection to the sandbox, which accepts any value: no real secrets. */
  readonly demo: Settings;
  /**
   * What a new connection starts with. A default that changes is changed here, and not in the payload: connections that exist
   * keep the earlier one.
   */
  readonly initialSettings?: Settings;
  /** Returns what is wrong with the connection as a whole, with the field's name, or undefined. `fields` are checked first. */
  check?(connection: Connection): string | undefined;
  /** Where conversions go, unless the connection has its own endpoint. Without secrets. */
  baseUrl(settings: Settings): string;
  /** The customer sets the URL: without an operator's endpoint, it must be on the public internet. */
  readonly customerAddress?: boolean;
  /** The platform's names of standard events, which need no mapping. Undefined: it has only ids. */
  readonly eventNames?: ReadonlyMap<string, string>;
  /** Names of the settings that identify the account or pixel that conversions go to. */
  readonly account: readonly string[];
  /** The maximum number of conversions in one request. */
  readonly batchMax: number;
  /** The requests that a connection makes at most. Undefined: the platform says by throttling when there are too many. */
  readonly rateLimit?: RateLimit;
  /** When a conversion may be sent, which may depend on the endpoint that the settings select. Undefined: no limit is known. */
  limits?(settings: Settings, limited: LimitedConversion): DeliveryLimits;
  /** Answers a wrong credential like a right one, so nothing is sent to an account other than the connected one. */
  readonly hidesRefusals?: boolean;

  /**
   * Builds the payload of a conversion, or returns why it is not sent. The result depends on neither secrets nor the
   * clock, so that an attempt after one with an unknown outcome sends the same payload.
   */
  payload(conversion: Conversion, settings: Settings): Payload | Skip;
  /**
   * Builds the payload of a correction, for events that the connection names in `refund_event`. Undefined: the platform has no
   * corrections.
   */
  correction?(correction: Conversion, order: CorrectedOrder, settings: Settings): Payload | Skip;
  /** Whether it takes a conversion without anything personal (`isAnonymous`). Undefined: it does not, and gets none. */
  takesAnonymous?(settings: Settings): boolean;
  /** Builds one request with these payloads, each as JSON text; they all have the same `group`. */
  request(items: readonly string[], call: Call): PlatformRequest;
  /** Interprets the answer: one verdict on all payloads, or one for each in their order. */
  verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[];

  /** What a person can do about the reason that the connection was parked for; undefined if nothing more is known. */
  fix?(reason: string): string | undefined;
  /** Whether a conversion was refused because the platform does not know the person's consent: its sender should state it. */
  lacksConsent?(reason: string): boolean;
  /** Whether the connection was parked for a setting or the account, and not for its credentials. */
  misconfigured?(reason: string): boolean;
  /** How to obtain an access token; undefined when the connection has no credentials for one. */
  token?(connection: Connection): TokenRequest | undefined;
  /** How a person signs in at the platform to connect it; undefined where it has no such sign-in. */
  readonly authorization?: Authorization;
  /** Asks for the outcome of a request that was accepted for later processing. */
  readonly confirmation?: Confirmation;
  /**
   * Sends a conversion in the platform's test mode, or, without one, checks what can be checked without a conversion. Undefined:
   * the platform offers neither.
   */
  test?(item: string, call: Call): TestCall | undefined;
  /** Why a test of the connection sends no conversion. Undefined: it always sends one. */
  readonly untested?: string;
  /** Lists what the account has, to pick from. Needs more rights than sending; undefined where it cannot be listed. */
  listAccount?(call: ListingCall, list: OptionList): Listing;
}

/** At most so many requests in any period of this length. */
export interface RateLimit {
  readonly requests: number;
  readonly perMs: number;
}

/** What limits depend on besides the settings. */
export interface LimitedConversion {
  readonly source?: ConversionSource | undefined;
  /** Order of a correction. */
  readonly order?: Pick<CorrectedOrder, 'timeMs' | 'settledMs'> | undefined;
}

/** A limit that is undefined is not known. */
export interface DeliveryLimits {
  /** The platform may count a duplicate sent later than this twice. */
  readonly dedupWindowMs?: number;
  /** The platform rejects older conversions. */
  readonly ageMaxMs?: number;
  /** Since when the age counts, if not since the conversion occurred. */
  readonly agesFromMs?: number;
  /** The platform rejects it before this time. */
  readonly earliestMs?: number;
}

/** One setting of a connection. */
export interface Field {
  readonly name: string;
  readonly secret?: boolean;
  readonly required?: boolean;
  /** An address that may contain a secret: settings hold it redacted, and the secret of the same name in full. */
  readonly address?: true;
  /** It describes the value of another field, and is removed when that one is set without it. */
  readonly about?: string;
  /** One line: its meaning and where to find it. */
  readonly help: string;
  /** Returns what is wrong with the value, or undefined. The message never contains the value. */
  check?(value: string): string | undefined;
  /** Used when the connection does not set it. */
  readonly fallback?: string;
}

/** By name, as they were set; without secrets. */
export type Settings = Readonly<Record<string, string>>;

/** A site's account at a platform. */
export interface Connection {
  readonly settings: Settings;
  readonly secrets: Readonly<Record<string, string>>;
  /** Replaces scheme, host and path prefix of every URL of the platform: for sandboxes and regional gateways. */
  readonly endpoint?: string | undefined;
}

/** Everything a request is built from, besides the payloads. */
export interface Call {
  readonly connection: Connection;
  /** The group that all payloads of the request share. */
  readonly group?: string | undefined;
  /** The result of the token request, if `token` returned one. */
  readonly accessToken?: string | undefined;
  readonly nowMs: number;
  /** Place in the sender's trace. Only of platforms with `customerAddress`. */
  readonly traceparent?: string | undefined;
}

export interface Payload {
  /** Plain JSON. With `actions` a list of items, one for each of them. */
  readonly item: object;
  /** The conversion actions or rules that the conversion is for, where each needs an item of its own. */
  readonly actions?: readonly string[];
  /** Payloads of different groups cannot share a request, for example because they go to different URLs. */
  readonly group?: string;
}

export type SkipReason =
  | 'no_click_identifier'
  | 'no_identifier'
  | 'no_client_identifier'
  | 'event_not_mapped'
  | 'value_required'
  | 'consent_denied'
  | 'too_old'
  | 'event_not_selected'
  /** The platform has no corrections, and the connection maps the event to none of its events. */
  | 'correction_not_supported'
  /** The log has no conversion of the order before the correction. */
  | 'order_unknown'
  /** The platform did not get the conversion of the order, or refused it. */
  | 'order_not_sent'
  /** Earlier corrections have refunded the whole order. */
  | 'already_refunded'
  /** The platform has accepted a later correction of the order, which includes this one. */
  | 'superseded'
  | 'currency_differs'
  | 'too_many_corrections';

export interface Skip {
  readonly skip: SkipReason;
}

export interface PlatformRequest {
  readonly method: 'POST' | 'GET' | 'PUT' | 'PATCH';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface PlatformResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** The beginning, decoded: at most 64 KiB, except of listings. */
  readonly text: string;
  /** The text parsed as JSON; undefined when it is not JSON or was cut off. */
  readonly json: unknown;
}

export type RetryReason = 'timeout' | 'throttled' | 'server_error' | 'network_error';

export type Verdict =
  /** The platform confirmed that it accepted the conversion. */
  | { readonly kind: 'delivered'; readonly requestId?: string | undefined }
  /** The platform accepted the request; whether the conversion counts is reported later, or never. */
  | { readonly kind: 'accepted'; readonly requestId?: string | undefined }
  /** Final. The reason is the platform's error message, shortened and without personal data. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly requestId?: string | undefined }
  | {
      readonly kind: 'retry';
      readonly reason: RetryReason;
      /** The minimum wait before the next attempt. */
      readonly afterMs?: number | undefined;
      /** Whether the conversion may have been accepted, where it does not follow from the reason (`unknown-outcome.ts`). */
      readonly unknown?: boolean | undefined;
      readonly requestId?: string | undefined;
    }
  /** The credentials were refused, not the conversion: the connection is parked, after one attempt with a fresh token if it has one. */
  | { readonly kind: 'unauthorized'; readonly reason: string; readonly requestId?: string | undefined }
  /** A setting, or the account at the platform, must be fixed by a person: the connection is parked. No fresh token would help. */
  | { readonly kind: 'misconfigured'; readonly reason: string; readonly requestId?: string | undefined }
  /** The receiver asked for no more conversions: the connection is paused. */
  | { readonly kind: 'gone'; readonly reason: string }
  /** Refused for these identifiers alone: the conversion is sent again without them, once. */
  | {
      readonly kind: 'without';
      readonly identifiers: readonly OptionalIdentifier[];
      readonly reason: string;
      readonly requestId?: string | undefined;
    }
  /** The request was refused because of another payload: this one is sent again without the rejected ones. */
  | { readonly kind: 'resend' }
  /** The request was refused and the answer does not identify the payload: each half is sent on its own. */
  | {
      readonly kind: 'split';
      readonly reason: string;
      /** Some payloads of the request may have been accepted. */
      readonly unknown?: boolean | undefined;
      readonly requestId?: string | undefined;
    };

/** A form post to an OAuth 2 token endpoint. */
export interface TokenRequest {
  readonly url: string;
  /** Besides those of every form post. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly form: Readonly<Record<string, string>>;
}

export interface Confirmation {
  request(requestId: string, call: Call): PlatformRequest;
  /**
   * `delivered` or `rejected` once the outcome is known, `retry` until then; `split` when it differs between payloads,
   * `misconfigured` when they are to be sent again after a person has fixed the connection.
   */
  verdict(response: PlatformResponse): Verdict;
}

/** What a test can show to be right. `events`: the actions, rules or goals that events are mapped to. */
export const TEST_CHECKS = ['payload', 'credentials', 'account', 'pixel', 'events', 'address'] as const;
export type TestCheck = (typeof TEST_CHECKS)[number];

export interface TestCall {
  readonly request: PlatformRequest;
  /** True if a conversion is sent in the test mode. False: nothing is sent that the platform could count. */
  readonly sent: boolean;
  /** What is right if the answer is good. */
  readonly checks: readonly TestCheck[];
  /** Undefined: the platform does not let the credentials read this, which says nothing about sending. */
  verdict(response: PlatformResponse): Verdict | undefined;
}

/** The operator's OAuth app at a platform. */
export interface OauthApp {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Replaces scheme, host and path prefix of every URL of the platform, as the endpoint of a connection does. */
  readonly endpoint?: string | undefined;
}

/** What the address of a platform's consent page contains, besides the app. */
export interface ConsentRequest {
  readonly redirectUri: string;
  readonly state: string;
  /** Digest of the PKCE verifier; undefined if the platform has no PKCE. */
  readonly challenge?: string | undefined;
}

export interface CodeExchange {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier?: string | undefined;
}

export interface GrantedTokens {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** Lifetime of the access token. Undefined: the platform does not say. */
  readonly lifetimeMs?: number | undefined;
}

/**
 * How a person gives this service access to an account at a platform: OAuth 2 with an authorization code. All methods are pure
 * functions. No secret is part of a URL.
 */
export interface Authorization {
  /** Whether the platform binds the code to a PKCE verifier. */
  readonly pkce: boolean;
  /** The parameter of the redirect that contains the code. */
  readonly codeParameter: string;
  /** The address of the consent page. */
  consentUrl(app: OauthApp, request: ConsentRequest): string;
  exchange(app: OauthApp, code: CodeExchange): PlatformRequest;
  /** Exchanges the first access token for one that is valid for longer, where the platform has two kinds. */
  extend?(app: OauthApp, accessToken: string): PlatformRequest;
  /** The tokens in the JSON of an answer to either exchange; undefined if there are none. */
  tokens(json: unknown): GrantedTokens | undefined;
  /**
   * The settings and secrets of a connection that the tokens fill; an empty text removes one. Undefined if a connection cannot
   * work with these tokens.
   */
  settings(app: OauthApp, tokens: GrantedTokens, nowMs: number): Settings | undefined;
  /** Why a sign-in is of no use to a connection with these settings; undefined if it is. */
  problem?(settings: Settings): string | undefined;
}

export interface ListingCall extends Call {
  /** List what belongs to this account, instead of to the first ones: the value of an option that others belong to. */
  readonly account?: string | undefined;
  /** The OAuth app that the person has allowed, for platforms that list only for it. */
  readonly app?: { readonly clientId: string; readonly clientSecret: string } | undefined;
}

/**
 * Yields a request at a time and gets its answer, so that the listing of a platform needs no I/O. Adds what it finds to the
 * list, and throws `ListingRefused`.
 */
export type Listing = Generator<PlatformRequest, void, PlatformResponse>;

/** The URL of a path at the platform, or at the own endpoint of a connection or an OAuth app. */
export function endpointUrl({ endpoint }: Pick<Connection, 'endpoint'>, base: string, path: string): string {
  return (endpoint === undefined ? base : endpoint.endsWith('/') ? endpoint.slice(0, -1) : endpoint) + path;
}

/** The form of an OAuth 2 token refresh; undefined when a credential is missing. */
export function refreshTokenForm({ settings, secrets }: Connection) {
  const { client_id } = settings;
  const { client_secret, refresh_token } = secrets;
  if (client_id === undefined || client_secret === undefined || refresh_token === undefined) return undefined;
  return { grant_type: 'refresh_token', client_id, client_secret, refresh_token };
}
