import type { Conversion } from './conversion.js';

/** The twelve, in the order a receipt lists them. */
export const PLATFORM_NAMES = [
  'google_ads',
  'meta',
  'tiktok',
  'microsoft_ads',
  'ga4',
  'segment',
  'linkedin',
  'pinterest',
  'snapchat',
  'reddit',
  'x',
  'webhook',
] as const;
export type PlatformName = (typeof PLATFORM_NAMES)[number];

/**
 * One advertising or analytics platform: what it wants to be told, how, and what its answers mean. Everything here is a
 * pure function of what it is given; sending, waiting, retrying and writing down is the dispatcher's.
 */
export interface Platform {
  readonly name: PlatformName;
  /** What `platforms connect --set` takes, besides `events`, `event.<ours>` and `field.<theirs>`. */
  readonly fields: readonly Field[];
  /** What is wrong with a connection as a whole, naming the field; undefined when nothing is. `fields` are checked before. */
  check?(connection: Connection): string | undefined;
  /** The address is the customer's own: unless an operator gave an endpoint, it must be on the public internet. */
  readonly customerAddress?: boolean;
  /** How many conversions one call may carry. */
  readonly batchMax: number;
  /** A repeat later than this after the first sending may count twice. Undefined: no window is known. */
  readonly dedupWindowMs?: number;
  /** The platform refuses conversions that happened longer ago. Undefined: no limit is known. */
  readonly ageMaxMs?: number;

  /**
   * The conversion as this platform spells it, or why it is not sent. Pure, and the same at every attempt: it sees the
   * settings as they were when the conversion came in, and neither secrets nor the clock.
   */
  payload(conversion: Conversion, settings: Settings): Payload | Skip;
  /** One call that carries these payloads, each as JSON text; they all have the same `group`. */
  request(items: readonly string[], call: Call): PlatformRequest;
  /** What the answer says: of all payloads together, or of each in its place. */
  verdict(response: PlatformResponse, items: number): Verdict | readonly Verdict[];

  /** Where an access token comes from, when the connection has credentials for one. */
  token?(connection: Connection): TokenRequest | undefined;
  /** Asks what became of a call that was only accepted. */
  readonly confirmation?: Confirmation;
  /** The platform's own way of trying something out; undefined where it has none. */
  test?(item: string, call: Call): TestCall | undefined;
}

/** One setting of a connection. */
export interface Field {
  readonly name: string;
  readonly secret?: boolean;
  readonly required?: boolean;
  /** One line: what it is and where to find it. */
  readonly help: string;
  /** What is wrong with the value, undefined when nothing is. Never repeats the value. */
  check?(value: string): string | undefined;
  /** Used when the connection does not say. */
  readonly fallback?: string;
}

/** By name, as they were set; no secrets. */
export type Settings = Readonly<Record<string, string>>;

/** A site's account at a platform. */
export interface Connection {
  readonly settings: Settings;
  readonly secrets: Readonly<Record<string, string>>;
  /** Takes the place of scheme, host and path prefix of every address of the platform: sandboxes, regional gateways. */
  readonly endpoint?: string | undefined;
}

/** What a call is made with, besides the payloads. */
export interface Call {
  readonly connection: Connection;
  /** Of the payloads: those of one call share it. */
  readonly group?: string | undefined;
  /** From `token`, where there is one. */
  readonly accessToken?: string | undefined;
  readonly nowMs: number;
}

export interface Payload {
  /** Plain JSON. */
  readonly item: object;
  /** Payloads of different groups cannot share a call (they go to different addresses, say). */
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
  | 'event_not_selected';

export interface Skip {
  readonly skip: SkipReason;
}

export interface PlatformRequest {
  readonly method: 'POST' | 'GET';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface PlatformResponse {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** At most the first 64 KiB, decoded. */
  readonly text: string;
  /** The text as JSON; undefined when it is none, or was cut off. */
  readonly json: unknown;
}

export type RetryReason = 'timeout' | 'throttled' | 'server_error' | 'network_error';

export type Verdict =
  /** The platform says that it took the conversion. */
  | { readonly kind: 'delivered'; readonly requestId?: string | undefined }
  /** It took the call, and says later or never whether the conversion counts. */
  | { readonly kind: 'accepted'; readonly requestId?: string | undefined }
  /** Final. The reason is what the platform said, in few words, without anything personal. */
  | { readonly kind: 'rejected'; readonly reason: string; readonly requestId?: string | undefined }
  | {
      readonly kind: 'retry';
      readonly reason: RetryReason;
      /** Not before this long from now. */
      readonly afterMs?: number | undefined;
      readonly requestId?: string | undefined;
    }
  /** The credentials, not the conversion: the connection is parked (after a fresh token, where there is one, did not help). */
  | { readonly kind: 'unauthorized'; readonly reason: string; readonly requestId?: string | undefined }
  /** The receiver wants nothing any more: the connection is paused. */
  | { readonly kind: 'gone'; readonly reason: string }
  /** The call was refused because of another payload in it: this one goes out again, without those that were rejected. */
  | { readonly kind: 'again' }
  /** The call was refused as a whole and does not say for which payload: halves are tried. A single one is rejected. */
  | { readonly kind: 'split'; readonly reason: string; readonly requestId?: string | undefined };

/** A form post to an OAuth 2 token endpoint. */
export interface TokenRequest {
  readonly url: string;
  readonly form: Readonly<Record<string, string>>;
}

export interface Confirmation {
  request(requestId: string, call: Call): PlatformRequest;
  /** `delivered` or `rejected` once it is known, `retry` while it is not; `split` when it differs between payloads. */
  verdict(response: PlatformResponse): Verdict;
}

export interface TestCall {
  readonly request: PlatformRequest;
  /** Whether a conversion reaches the platform, or only its credentials are tried. */
  readonly sent: boolean;
  verdict(response: PlatformResponse): Verdict;
}

/** An address of the platform, or the same path behind the connection's own endpoint. */
export function addressOf(connection: Connection, base: string, path: string): string {
  const { endpoint } = connection;
  return (endpoint === undefined ? base : endpoint.endsWith('/') ? endpoint.slice(0, -1) : endpoint) + path;
}
