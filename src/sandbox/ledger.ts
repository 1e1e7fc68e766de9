import type { ReceivedItem } from './double.js';
import { maskedBody, maskedHeaders, maskedQuery } from './masking.js';

const RECENT_MAX = 200;
const BODIES_MAX = 10;
const PROBLEM_KINDS_MAX = 100;

/** One request with its answer. */
export interface RecordedCall {
  readonly atMs: number;
  readonly platform: string;
  readonly tenant: string;
  /** The mode of the behaviour that applied; `ok` without one. */
  readonly mode: string;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
  /** Undefined when no answer was sent. */
  readonly status: number | undefined;
  readonly received: readonly ReceivedItem[];
}

/** Selects a part of the ledger; a field that is left out selects everything. */
export interface Selection {
  readonly platform?: string | undefined;
  readonly tenant?: string | undefined;
}

export interface LedgerOptions {
  /** The number of events remembered per platform and tenant. Zero: counters only, without detection of repeats. */
  readonly idsMax: number;
}

/** All deliveries of one conversion to one platform. */
interface SeenEvent {
  readonly eventId: string;
  readonly event: string;
  /** The number of times it was accepted. */
  times: number;
  /** The number of times it was refused. */
  refused: number;
  /** The hashes of its different bodies, oldest first. */
  readonly bodies: string[];
  /** When the current deduplication window started: the first time it was accepted. */
  acceptedMs: number | undefined;
}

/** Everything that one platform received for one tenant. */
class Account {
  calls = 0;
  items = 0;
  accepted = 0;
  repeats = 0;
  repeatsChanged = 0;
  problems = 0;
  readonly problemKinds = new Map<string, number>();
  readonly events = new Map<string, SeenEvent>();
  /** One iterator for the whole lifetime: a new one would skip all entries deleted at the front each time. */
  readonly #oldest = this.events.keys();

  constructor(
    private readonly idsMax: number,
    private readonly windowMs: number,
  ) {}

  add(item: ReceivedItem, nowMs: number): void {
    this.items += 1;
    if (item.accepted) this.accepted += 1;
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
      seen = { eventId: item.eventId, event: item.event, times: 0, refused: 0, bodies: [], acceptedMs: undefined };
      this.events.set(key, seen);
      if (this.events.size > this.idsMax) this.events.delete(this.#oldest.next().value as string);
    }
    const isKnownBody = seen.bodies.includes(item.bodySha256);
    if (item.accepted) {
      const isRepeat = seen.acceptedMs !== undefined && nowMs - seen.acceptedMs <= this.windowMs;
      seen.times += 1;
      if (isRepeat) {
        this.repeats += 1;
        if (!isKnownBody) this.repeatsChanged += 1;
      } else seen.acceptedMs = nowMs;
    } else seen.refused += 1;
    if (!isKnownBody && seen.bodies.length < BODIES_MAX) seen.bodies.push(item.bodySha256);
  }

  view(ids: boolean): object {
    const { calls, items, accepted, repeats, repeatsChanged, problems } = this;
    const problemKinds = Object.fromEntries(this.problemKinds);
    return {
      ...{ calls, items, accepted, repeats, repeatsChanged, problems, problemKinds },
      ...(ids ? { events: this.#eventsById() } : {}),
    };
  }

  #eventsById(): Record<string, object> {
    const byId: Record<string, object> = Object.create(null);
    for (const [key, { eventId, event, times, refused, bodies }] of this.events) {
      // Several events may share an id if the platform deduplicates by more than the id.
      byId[eventId in byId ? key : eventId] = { event, times, refused, bodies };
    }
    return byId;
  }
}

/** Records all requests. Counters are unlimited; of events and requests only the latest are stored. */
export class Ledger {
  readonly #accounts = new Map<string, Map<string, Account>>();
  #recent: RecordedCall[] = [];

  constructor(private readonly options: LedgerOptions) {}

  record(call: RecordedCall, dedupWindowMs = Number.POSITIVE_INFINITY): void {
    const account = this.#account(call.platform, call.tenant, dedupWindowMs);
    account.calls += 1;
    for (const item of call.received) account.add(item, call.atMs);
    this.#recent.push(call);
    // Trimming only at twice the limit keeps the cost per request low.
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
