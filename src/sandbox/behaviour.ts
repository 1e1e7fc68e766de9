import { isObject } from './checks.js';
import { CALL_KINDS, type CallKind, FAILURE_KINDS, type FailureKind } from './double.js';
import { isSelected, type Selection } from './ledger.js';

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

/** How the next calls of one kind, at one platform for one tenant, are answered. */
export interface Behaviour {
  readonly platform: string;
  readonly tenant: string;
  readonly call: CallKind;
  readonly mode: Mode;
  /** For so many calls; undefined: until something else is asked for. */
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

/** What the control API was asked for, or what is wrong with it and how to put it right. */
export function parseBehaviour(order: unknown): Behaviour | string {
  if (!isObject(order)) return 'Send a JSON object such as {"platform":"meta","mode":"throttle","times":2}.';
  const { platform, tenant = 'default', call = 'events', mode, times, ms, status } = order;
  if (typeof platform !== 'string') return 'Say which platform: "platform":"meta".';
  if (typeof tenant !== 'string' || tenant === '') return '"tenant" is a text; leave it out for "default".';
  if (!(CALL_KINDS as readonly unknown[]).includes(call)) return `"call" is one of ${CALL_KINDS.join(', ')}.`;
  if (!isMode(mode)) return `"mode" is one of ${MODES.join(', ')}.`;
  if (times !== undefined && !isCount(times)) return '"times" is a whole number from 1 on; leave it out for always.';
  if (ms !== undefined && !isCount(ms)) return '"ms" is a whole number of milliseconds from 1 on.';
  if (mode === 'slow' && ms === undefined) return '"slow" needs "ms", the milliseconds before the answer.';
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
  if (possible.length === 0) return `"${mode}" takes no "status"; leave it out.`;
  return possible.includes(status as number) ? undefined : `"status" of "${mode}" is one of ${possible.join(', ')}.`;
}

/** What was asked for. The latest order for the same calls replaces the one before; `ok` ends all of a platform's. */
export class Behaviours {
  readonly #byCalls = new Map<string, Behaviour & { left: number }>();

  set(behaviour: Behaviour): void {
    const { platform, tenant, call, times } = behaviour;
    if (behaviour.mode === 'ok') this.clear({ platform, tenant });
    else this.#byCalls.set(keyOf(platform, tenant, call), { ...behaviour, left: times ?? Number.POSITIVE_INFINITY });
  }

  /** The behaviour for this call, which uses it up by one. */
  take(platform: string, tenant: string, call: CallKind): Behaviour | undefined {
    // Looking nothing up is by far the most frequent case.
    if (this.#byCalls.size === 0) return undefined;
    const key = keyOf(platform, tenant, call);
    const behaviour = this.#byCalls.get(key);
    if (behaviour === undefined) return undefined;
    behaviour.left -= 1;
    if (behaviour.left === 0) this.#byCalls.delete(key);
    return behaviour;
  }

  /** What is in force, `times` counted down. */
  list(): Behaviour[] {
    return [...this.#byCalls.values()].map(({ left, ...behaviour }) =>
      behaviour.times === undefined ? behaviour : { ...behaviour, times: left },
    );
  }

  clear(selection: Selection): void {
    for (const [key, { platform, tenant }] of this.#byCalls) {
      if (isSelected(selection, platform, tenant)) this.#byCalls.delete(key);
    }
  }
}

function keyOf(platform: string, tenant: string, call: CallKind): string {
  return `${platform}\n${tenant}\n${call}`;
}
