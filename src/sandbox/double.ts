/** A request as a double receives it. */
export interface SandboxRequest {
  readonly method: string;
  /** The path after the platform's base URL, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly nowMs: number;
  readonly tenant: string;
  /** State that a double keeps between requests, separate for each sandbox, platform and tenant. */
  readonly memory: Memory;
}

export type Memory = Map<string, unknown>;

export interface SandboxAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** The conversions of the request, in their order; created with `receivedItem`. */
  readonly received?: readonly ReceivedItem[];
}

/** One conversion as it is recorded in the ledger. */
export interface ReceivedItem {
  readonly eventId: string;
  readonly event: string;
  /** Violations of the platform's contract. They contain field names, never values. */
  readonly problems: readonly string[];
  /** Whether the platform accepted it. Where the answer does not show it, only the sandbox reports it. */
  readonly accepted: boolean;
  /** The hash of the item's JSON.stringify. */
  readonly bodySha256: string;
  /** The key that the platform deduplicates by, if it is not the event id alone. */
  readonly dedupKey?: string;
}

export const FAILURE_KINDS = ['refuse', 'refuse_one', 'throttle', 'server_error', 'unauthorized', 'forbidden'] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** The purpose of a request. A behaviour applies to `events` by default, so that a token request does not use it up. */
export const CALL_KINDS = ['events', 'token', 'status', 'test', 'list', 'consent'] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** A request to the control API with a mode that only one platform has. */
export interface ControlRequest {
  readonly mode: string;
  readonly times?: number;
  readonly status?: number | string;
  readonly reason?: string;
  readonly action?: string;
}

/**
 * A test double of one platform. It is written against the platform's documentation and shares no code with
 * `src/platforms`, so that an error there cannot hide in both places.
 */
export interface PlatformDouble {
  readonly name: string;
  /** A repeat within this window is a duplicate; undefined: without a time limit. */
  readonly dedupWindowMs?: number;
  answer(request: SandboxRequest): SandboxAnswer;
  /** The documented answer of the platform to this failure. */
  fail(kind: FailureKind, request: SandboxRequest): SandboxAnswer;
  /** Without it every request is of the kind `events`. */
  callKind?(request: SandboxRequest): CallKind;
  /** Handles a mode that only this platform has; `ok` resets all of them. Returns what is wrong with the request. */
  control?(request: ControlRequest, memory: Memory): string | undefined;
}

/** The answers of a double to each kind of failure. */
export type FailureAnswers = Readonly<Record<FailureKind, (request: SandboxRequest) => SandboxAnswer>>;

/** Creates a request from a URL that starts after the platform's base URL. */
export function sandboxRequest(
  method: string,
  url: string,
  more: Partial<Omit<SandboxRequest, 'method' | 'path' | 'query'>> = {},
): SandboxRequest {
  const question = url.indexOf('?');
  return {
    method,
    path: question < 0 ? url : url.slice(0, question),
    query: new URLSearchParams(question < 0 ? '' : url.slice(question + 1)),
    headers: more.headers ?? {},
    body: more.body ?? '',
    nowMs: more.nowMs ?? Date.now(),
    tenant: more.tenant ?? 'default',
    memory: more.memory ?? new Map(),
  };
}
