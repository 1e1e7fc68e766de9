import type { ReceivedItem } from './double.js';
import { maskedBody, maskedHeaders, maskedQuery } from './masking.js';

const RECENT_MAX = 200;
const BODIES_MAX = 10;
const PROBLEM_KINDS_MAX = 100;

/** One call as it came in and what was made of it. */
export interface RecordedCall {
  readonly atMs: number;
  readonly platform: string;
  readonly tenant: string;
  /** How the sandbox behaved; `ok` when nobody asked for anything else. */
  readonly mode: string;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Undefined when there was no answer. */
  readonly status: number | undefined;
  readonly received: readonly ReceivedItem[];
}

/** Which part of the ledger; what is left out is all of it. */
export interface Selection {
  readonly platform?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface LedgerOptions {
  /** How many events are remembered for each platform and tenant. Zero: counters only, and repeats go unseen. */
  readonly idsMax: number;
}

/** What one conversion has been through at one platform. */
interface SeenEvent {
  readonly eventId: string;
  readonly event: string;
  /** How often it was taken. */
  times: number;
  /** How often it was refused. */
  refused: number;
  /** The different forms it came in, first first. */
  readonly bodies: string[];
  /** When it was taken first within the platform's window for repeats. */
  takenMs: number | undefined;
}

/** What came in at one platform for one tenant. */
class Account {
  calls = 0;
  items = 0;
  taken = 0;
  repeats = 0;
  repeatsChanged = 0;
  problems = 0;
  readonly problemKinds = new Map<string, number>();
  readonly events = new Map<string, SeenEvent>();
  /** One iterator for good: a new one would walk over all the gaps at the front that forgetting leaves behind. */
  readonly #oldest = this.events.keys();

  constructor(
    private readonly idsMax: number,
    private readonly windowMs: number,
  ) {}

  add(item: ReceivedItem, nowMs: number): void {
    this.items += 1;
    if (item.taken) this.taken += 1;
    this.problems += item.problems.length;
    for (const problem of item.problems) this.#countProblem(problem);
    if (this.idsMax > 0 && item.eventId !== '') this.#remember(item, nowMs);
  }

  #countProblem(problem: string): void {
    const times = this.problemKinds.get(problem);
    if (times !== undefined || this.problemKinds.size < PROBLEM_KINDS_MAX) {
      this.problemKinds.set(problem, (times ?? 0) + 1);
    }
  }

  #remember(item: ReceivedItem, nowMs: number): void {
    const key = item.dedupKey ?? item.eventId;
    let seen = this.events.get(key);
    if (seen === undefined) {
      seen = { eventId: item.eventId, event: item.event, times: 0, refused: 0, bodies: [], takenMs: undefined };
      this.events.set(key, seen);
      if (this.events.size > this.idsMax) this.events.delete(this.#oldest.next().value as string);
    }
    const known = seen.bodies.includes(item.bodySha256);
    if (item.taken) {
      const repeat = seen.takenMs !== undefined && nowMs - seen.takenMs <= this.windowMs;
      seen.times += 1;
      if (repeat) {
        this.repeats += 1;
        if (!known) this.repeatsChanged += 1;
      } else seen.takenMs = nowMs;
    } else seen.refused += 1;
    if (!known && seen.bodies.length < BODIES_MAX) seen.bodies.push(item.bodySha256);
  }

  view(ids: boolean): object {
    const { calls, items, taken, repeats, repeatsChanged, problems } = this;
    const problemKinds = Object.fromEntries(this.problemKinds);
    return {
      ...{ calls, items, taken, repeats, repeatsChanged, problems, problemKinds },
      ...(ids ? { events: this.#eventsById() } : {}),
    };
  }

  #eventsById(): Record<string, object> {
    const byId: Record<string, object> = Object.create(null);
    for (const [key, { eventId, event, times, refused, bodies }] of this.events) {
      // One id may stand for several events where the platform tells them apart by name.
      byId[eventId in byId ? key : eventId] = { event, times, refused, bodies };
    }
    return byId;
  }
}

/** What came in. Figures go on for ever, events are forgotten oldest first, of calls only the latest are kept. */
export class Ledger {
  readonly #accounts = new Map<string, Map<string, Account>>();
  #recent: RecordedCall[] = [];

  constructor(private readonly options: LedgerOptions) {}

  record(call: RecordedCall, dedupWindowMs = Number.POSITIVE_INFINITY): void {
    const account = this.#account(call.platform, call.tenant, dedupWindowMs);
    account.calls += 1;
    for (const item of call.received) account.add(item, call.atMs);
    this.#recent.push(call);
    // Cut now and then rather than at every call.
    if (this.#recent.length >= 2 * RECENT_MAX) this.#recent = this.#recent.slice(-RECENT_MAX);
  }

  view(selection: Selection, ids: boolean): object {
    const view: Record<string, unknown> = {};
    for (const [platform, tenants] of this.#accounts) {
      const chosen = [...tenants].filter(([tenant]) => isSelected(selection, platform, tenant));
      if (chosen.length === 0) continue;
      view[platform] = Object.fromEntries(chosen.map(([tenant, account]) => [tenant, account.view(ids)]));
    }
    view['recent'] = this.#recent
      .slice(-RECENT_MAX)
      .filter(({ platform, tenant }) => isSelected(selection, platform, tenant))
      .map(callView);
    return view;
  }

  forget(selection: Selection): void {
    for (const [platform, tenants] of this.#accounts) {
      for (const tenant of tenants.keys()) if (isSelected(selection, platform, tenant)) tenants.delete(tenant);
    }
    this.#recent = this.#recent.filter(({ platform, tenant }) => !isSelected(selection, platform, tenant));
  }

  #account(platform: string, tenant: string, windowMs: number): Account {
    let tenants = this.#accounts.get(platform);
    if (tenants === undefined) {
      tenants = new Map();
      this.#accounts.set(platform, tenants);
    }
    let account = tenants.get(tenant);
    if (account === undefined) {
      account = new Account(this.options.idsMax, windowMs);
      tenants.set(tenant, account);
    }
    return account;
  }
}

export function isSelected(selection: Selection, platform: string, tenant: string): boolean {
  return (
    (selection.platform === undefined || selection.platform === platform) &&
    (selection.tenant === undefined || selection.tenant === tenant)
  );
}

function callView(call: RecordedCall): object {
  return {
    at: new Date(call.atMs).toISOString(),
    platform: call.platform,
    tenant: call.tenant,
    mode: call.mode,
    method: call.method,
    path: call.path,
    query: maskedQuery(call.query),
    headers: maskedHeaders(call.headers),
    body: maskedBody(call.body),
    status: call.status ?? null,
    received: call.received,
  };
}
