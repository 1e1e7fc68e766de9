import { CALL_KINDS, type CallKind, FAILURE_KINDS, type FailureKind } from './double.js';
import { isSelected, type Selection } from './ledger.js';
import { isObject } from './values.js';

const MODES = [
  'ok',
  ...FAILURE_KINDS,
  'hang',
  'slow',
  'half',
  'drop',
  'drop_before',
  'html',
  'truncated',
  'huge',
  'gzip_bomb',
  'error_in_200',
  'redirect',
  'gone',
] as const;
export type Mode = (typeof MODES)[number];

const SERVER_ERRORS = [500, 502, 503, 504];
const HTML_STATUSES = [200, 400, 403, 404, ...SERVER_ERRORS];

/** How the next requests of one kind, for one platform and tenant, are answered. */
export interface Behaviour {
  readonly platform: string;
  readonly tenant: string;
  readonly call: CallKind;
  readonly mode: Mode;
  /** The number of requests it applies to; undefined: until it is replaced. */
  readonly times?: number;
  readonly ms?: number;
  readonly status?: number;
}

export function isFailure(mode: Mode): mode is FailureKind {
  return (FAILURE_KINDS as readonly string[]).includes(mode);
}

export function isMode(mode: unknown): mode is Mode {
  return (MODES as readonly unknown[]).includes(mode);
}

/** Parses a request of the control API; returns a message with the correction if it is invalid. */
export function parseBehaviour(request: unknown): Behaviour | string {
  if (!isObject(request)) return 'Send a JSON object such as {"platform":"meta","mode":"throttle","times":2}.';
  const { platform, tenant = 'default', call = 'events', mode, times, ms, status } = request;
  if (typeof platform !== 'string') return 'Set the platform: "platform":"meta".';
  if (typeof tenant !== 'string' || tenant === '')
    return '"tenant" is a non-empty string; without it the tenant is "default".';
  if (!(CALL_KINDS as readonly unknown[]).includes(call)) return `"call" is one of ${CALL_KINDS.join(', ')}.`;
  if (!isMode(mode)) return `"mode" is one of ${MODES.join(', ')}.`;
  if (times !== undefined && !isCount(times))
    return '"times" is a whole number of at least 1; without it the mode does not end.';
  if (ms !== undefined && !isCount(ms)) return '"ms" is a whole number of milliseconds, at least 1.';
  if (mode === 'slow' && ms === undefined) return '"slow" requires "ms", the delay in milliseconds.';
  const statusProblem = problemOfStatus(mode, status);
  if (statusProblem !== undefined) return statusProblem;
  return {
    ...{ platform, tenant, call: call as CallKind, mode },
    ...(times === undefined ? {} : { times }),
    ...(ms === undefined ? {} : { ms }),
    ...(status === undefined ? {} : { status: status as number }),
  };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) > 0;
}

function problemOfStatus(mode: Mode, status: unknown): string | undefined {
  if (status === undefined) return undefined;
  const possible = mode === 'server_error' ? SERVER_ERRORS : mode === 'html' ? HTML_STATUSES : [];
  if (possible.length === 0) return `"${mode}" accepts no "status".`;
  return possible.includes(status as number) ? undefined : `"status" of "${mode}" is one of ${possible.join(', ')}.`;
}

/** The behaviours that are in force. A new one replaces the previous one of the same requests; `ok` ends all of a tenant. */
export class Behaviours {
  readonly #byKey = new Map<string, Behaviour & { left: number }>();

  set(behaviour: Behaviour): void {
    const { platform, tenant, call, times } = behaviour;
    if (behaviour.mode === 'ok') this.clear({ platform, tenant });
    else this.#byKey.set(keyOf(platform, tenant, call), { ...behaviour, left: times ?? Number.POSITIVE_INFINITY });
  }

  /** The behaviour for this request; counts down its `times`. */
  take(platform: string, tenant: string, call: CallKind): Behaviour | undefined {
    // Under load there are usually no behaviours.
    if (this.#byKey.size === 0) return undefined;
    const key = keyOf(platform, tenant, call);
    const behaviour = this.#byKey.get(key);
    if (behaviour === undefined) return undefined;
    behaviour.left -= 1;
    if (behaviour.left === 0) this.#byKey.delete(key);
    return behaviour;
  }

  /** All behaviours, with the remaining `times`. */
  list(): Behaviour[] {
    return [...this.#byKey.values()].map(({ left, ...behaviour }) =>
      behaviour.times === undefined ? behaviour : { ...behaviour, times: left },
    );
  }

  clear(selection: Selection): void {
    for (const [key, { platform, tenant }] of this.#byKey) {
      if (isSelected(selection, platform, tenant)) this.#byKey.delete(key);
    }
  }
}

function keyOf(platform: string, tenant: string, call: CallKind): string {
  return `${platform}\n${tenant}\n${call}`;
}
