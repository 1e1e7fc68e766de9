/** One call as a double sees it. */
export interface SandboxRequest {
  readonly method: string;
  /** After the platform's base address, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  readonly nowMs: number;
  readonly tenant: string;
  /** What a double keeps from call to call: its own for each sandbox, platform and tenant. */
  readonly memory: Memory;
}

export type Memory = Map<string, unknown>;

export interface SandboxAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
  /** The conversions the call carried, in their order; `receivedItem` makes one. */
  readonly received?: readonly ReceivedItem[];
}

export interface ReceivedItem {
  readonly eventId: string;
  readonly event: string;
  /** What is wrong with it by the contract. Names fields, never values. */
  readonly problems: readonly string[];
  /** Whether the platform took it. Where the answer is the same either way, only the sandbox knows. */
  readonly taken: boolean;
  /** Of this item's JSON.stringify. */
  readonly bodySha256: string;
  /** What the platform tells repeats by, when it is more than the event id: the event name with it, say. */
  readonly dedupKey?: string;
}

export const FAILURE_KINDS = ['refuse', 'refuse_one', 'throttle', 'server_error', 'unauthorized', 'forbidden'] as const;
export type FailureKind = (typeof FAILURE_KINDS)[number];

/** What a call is for. A behaviour is for `events` unless it says otherwise, so that a token call does not use it up. */
export const CALL_KINDS = ['events', 'token', 'status', 'test'] as const;
export type CallKind = (typeof CALL_KINDS)[number];

/** An order of the control API that only one platform knows. */
export interface Order {
  readonly mode: string;
  readonly times?: number;
  readonly status?: number | string;
  readonly reason?: string;
}

/** One platform as its contract describes it, written without a look at the code that talks to it. */
export interface PlatformDouble {
  readonly name: string;
  /** A repeat within it is a duplicate; undefined: a repeat is one however late it comes. */
  readonly dedupWindowMs?: number;
  answer(request: SandboxRequest): SandboxAnswer;
  /** The documented answer of this platform to that failure. */
  fail(kind: FailureKind, request: SandboxRequest): SandboxAnswer;
  /** `events` where a double does not say. */
  callKind?(request: SandboxRequest): CallKind;
  /** Takes an order with a mode of its own; `ok` takes all of them back. Gives what is wrong with the order. */
  control?(order: Order, memory: Memory): string | undefined;
}

/** Takes the address apart; it begins after the platform's base. */
export function sandboxRequest(
  method: string,
  address: string,
  call: Partial<Omit<SandboxRequest, 'method' | 'path' | 'query'>> = {},
): SandboxRequest {
  const question = address.indexOf('?');
  return {
    method,
    path: question < 0 ? address : address.slice(0, question),
    query: new URLSearchParams(question < 0 ? '' : address.slice(question + 1)),
    headers: call.headers ?? {},
    body: call.body ?? '',
    nowMs: call.nowMs ?? Date.now(),
    tenant: call.tenant ?? 'default',
    memory: call.memory ?? new Map(),
  };
}
