import { subjectOfPerson } from '../../events/person-keys.js';
import { LogUnavailable, messageOf, SitePaused } from '../../kernel/errors.js';
import { uuidv7 } from '../../kernel/uuid.js';
import type { AppendOutcome, AppendRequest, NewEvent } from '../event.js';
import { firstVersion, type RecentEvents, RecentRow } from '../recent-events.js';
import { asBatch, serialise } from './append-batch.js';
import type { AppendedPositions } from './appended-positions.js';

/** One call to the database that stores a batch or fails. */
export interface AppendPort {
  append(call: AppendCall): Promise<BatchOutcome>;
}

export interface AppendCall {
  /** The events, as JSON. */
  readonly batch: string;
  /** Versions must be compared, or the batch is sent again because the first result is unknown. */
  readonly checked: boolean;
  /** Some events have a part for the inline projections. */
  readonly noted: boolean;
  /** As JSON: requests whose stream must still end at the event that their sender knows. */
  readonly owned: string | null;
  /** The lowest position as of which a request of the batch was decided. */
  readonly asOf: number | null;
  /** Database time. The batch is stored within these bounds or not at all. */
  readonly earliestMs: number;
  readonly latestMs: number;
}

/** The result of `cc.append`. Indexes in the batch start at 1. */
export interface BatchOutcome {
  readonly time: number;
  /** Position of the newest event before this call; 0 in an empty log. */
  readonly previous: number;
  /** Position of the first event stored by this call. The others follow without gaps, in the order of the batch. */
  readonly first: number | null;
  readonly lost: readonly (readonly [index: number, holder: string])[] | null;
  /** Events that an earlier call stored. */
  readonly stored: readonly ({ readonly position: number; readonly time: number } | null)[] | null;
  readonly conflicts: readonly number[] | null;
  readonly stale: readonly number[] | null;
  /** New streams of a site that is paused. */
  readonly paused: readonly number[] | null;
}

/** The database refused these rows, as opposed to being unavailable. Nothing of the batch was stored. */
export class BatchRefused extends Error {
  override readonly name = 'BatchRefused';

  constructor(
    readonly failure: 'bad_row' | 'conflict',
    message: string,
  ) {
    super(message);
  }
}

/** The batch reached the database outside its time bounds. Nothing of this call was stored. */
export class OutsideBounds extends Error {
  override readonly name = 'OutsideBounds';
}

/** The database's time, by which the deadlines of appends are judged. */
export interface AppendClock {
  /** At a moment of `performance.now()`. */
  at(monotonicMs: number): number;
  /** Why nothing may be appended now. */
  refusal(): string | undefined;
}

export interface AppendQueueLimits {
  readonly batchEventsMax: number;
  readonly batchBytesMax: number;
  readonly waitingEventsMax: number;
  readonly waitingBytesMax: number;
  /** Deadline of a request, including waiting and retries. */
  readonly deadlineMs: number;
  readonly retryDelayMs: number;
}

const APPEND_LIMITS: AppendQueueLimits = {
  batchEventsMax: 1_000,
  batchBytesMax: 2 * 1024 * 1024,
  waitingEventsMax: 20_000,
  waitingBytesMax: 32 * 1024 * 1024,
  deadlineMs: 6_000,
  retryDelayMs: 100,
};

/**
 * A batch that is sent just before a deadline may take this long: otherwise, under overload, the oldest request of each batch
 * would leave no time to store it. Nothing is stored later. A deadline that the caller states itself is not extended.
 */
export const COMMIT_GRACE_MS = 2_500;
/** How far the database's clock may be behind its estimate: a larger difference means that it stepped back. */
const CLOCK_TOLERANCE_MS = 2_000;

/** The category of events that make a request with `asOf` stale, as in `cc.append`. */
const CHANGING = 'visitor';

interface PendingAppend {
  readonly request: AppendRequest;
  /** Ids of the events. Chosen once, so that a repeated request is identical. */
  readonly ids: readonly string[];
  /** Each event as JSON, without the first brace and its index in the batch. */
  readonly rows: readonly string[];
  readonly bytes: number;
  /** By `performance.now()`. */
  readonly deadline: number;
  readonly resolve: (outcome: AppendOutcome) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Group commit. Requests that arrive while a batch is in flight form the next batch: under load many requests share a commit,
 * without load a request waits for no other. One batch is in flight at a time.
 */
export class AppendQueue {
  private waiting: PendingAppend[] = [];
  private waitingEvents = 0;
  private waitingBytes = 0;
  private inFlight: readonly PendingAppend[] = [];
  private working: Promise<void> | undefined;

  constructor(
    private readonly port: AppendPort,
    private readonly clock: AppendClock,
    private readonly observe: (requests: AppendRequest[], events: number, seconds: number) => void = () => {},
    private readonly limits: AppendQueueLimits = APPEND_LIMITS,
    private readonly recent?: RecentEvents,
    private readonly appended?: AppendedPositions,
  ) {}

  append(request: AppendRequest): Promise<AppendOutcome> {
    return new Promise((resolve, reject) => this.enqueue(request, resolve, reject));
  }

  /** Throws if the request is not accepted. */
  private enqueue(
    request: AppendRequest,
    resolve: (outcome: AppendOutcome) => void,
    reject: (error: Error) => void,
  ): void {
    const refusal = this.clock.refusal();
    if (refusal) throw new LogUnavailable(refusal);
    const deadline = this.deadlineOf(request, performance.now());
    if (deadline === undefined) throw timedOut();
    const ids = request.ids ?? request.events.map(uuidv7);
    const rows = serialise(request, ids);
    const bytes = rows.reduce((sum, row) => sum + row.length, 0);
    if (
      this.waitingEvents + rows.length > this.limits.waitingEventsMax ||
      this.waitingBytes + bytes > this.limits.waitingBytesMax
    ) {
      throw new LogUnavailable('The append queue is full');
    }
    this.waiting.push({ request, ids, rows, bytes, deadline, resolve, reject });
    this.waitingEvents += rows.length;
    this.waitingBytes += bytes;
    // Defer to the next tick so that requests of this tick share the batch.
    this.working ??= new Promise<void>((next) => setImmediate(next)).then(() => this.work());
  }

  /** Undefined if it has passed. */
  private deadlineOf({ notAfterMs = Number.POSITIVE_INFINITY }: AppendRequest, now: number): number | undefined {
    const leftMs = Math.min(this.limits.deadlineMs, notAfterMs - this.clock.at(now));
    return leftMs > 0 ? now + leftMs : undefined;
  }

  /** Resolves when every accepted request is answered. */
  async drained(): Promise<void> {
    while (this.working) await this.working;
  }

  private async work(): Promise<void> {
    const sweeper = setInterval(() => this.rejectExpired(), this.limits.retryDelayMs);
    while (this.waiting.length > 0) {
      this.inFlight = this.takeBatch();
      await this.store(this.inFlight, false);
    }
    this.inFlight = [];
    clearInterval(sweeper);
    this.working = undefined;
  }

  /** As many as fit, in order of arrival. A second request for a stream or dedup key of the batch waits for the next one. */
  private takeBatch(): PendingAppend[] {
    const batch: PendingAppend[] = [];
    const held: PendingAppend[] = [];
    const used = new Set<string>();
    const changed = new Set<string>();
    let events = 0;
    let bytes = 0;
    let seen = 0;
    for (const item of this.waiting) {
      const { request } = item;
      events += item.rows.length;
      bytes += item.bytes;
      if (batch.length > 0 && (events > this.limits.batchEventsMax || bytes > this.limits.batchBytesMax)) break;
      seen += 1;
      const key = request.claim && `${request.site} ${request.claim.key}`;
      const isDuplicate = used.has(request.stream) || (key !== undefined && used.has(key));
      (isDuplicate || isOutdated(request, changed) ? held : batch).push(item);
      noteChanges(request, changed);
      // Also for held requests: a later request for the same stream or key must not overtake them.
      if (isCompared(request)) used.add(request.stream);
      if (key !== undefined) used.add(key);
    }
    this.waiting = held.concat(this.waiting.slice(seen));
    for (const item of batch) this.forget(item);
    return batch;
  }

  /**
   * Sends the batch until its outcome is known. A broken connection is not a failed append: the first call may have committed,
   * or may still commit, so the same rows with the same ids are sent again and the database reports which of them it has.
   * Requests past their deadline are rejected.
   */
  private async store(batch: readonly PendingAppend[], sentBefore: boolean): Promise<void> {
    let uncertain = sentBefore;
    for (;;) {
      const started = performance.now();
      const open = batch.filter((item) => item.deadline > started);
      for (const item of batch) if (item.deadline <= started) item.reject(timedOut());
      if (open.length === 0) return;
      const refusal = this.clock.refusal();
      if (refusal) {
        for (const item of open) item.reject(new LogUnavailable(refusal));
        return;
      }
      try {
        const outcome = await this.port.append(this.toCall(open, started, uncertain));
        // Defer the answers: the next batch is sent first and is being stored while these are answered.
        const cleared = this.recent?.cleared;
        setImmediate(() => {
          answer(open, outcome, cleared === this.recent?.cleared ? this.recent : undefined, this.appended);
        });
        const requests = open.map(({ request }) => request);
        this.observe(requests, countEvents(open), (performance.now() - started) / 1_000);
        return;
      } catch (error) {
        if (error instanceof BatchRefused) return this.bisect(open, error);
        if (!(error instanceof OutsideBounds)) {
          uncertain = true;
          this.recent?.clear();
        }
        await new Promise((resolve) => setTimeout(resolve, this.limits.retryDelayMs));
      }
    }
  }

  /** The narrowest bounds of its requests apply to the whole batch. */
  private toCall(batch: readonly PendingAppend[], now: number, uncertain: boolean): AppendCall {
    const latestMs = batch.map(({ deadline, request: { notAfterMs = Number.POSITIVE_INFINITY } }) =>
      Math.min(notAfterMs, this.clock.at(deadline) + COMMIT_GRACE_MS),
    );
    return {
      batch: asBatch(batch.flatMap(({ rows }) => rows)),
      checked: uncertain || batch.some(({ request: { expected } }) => isLookedUp(expected)),
      noted: batch.some(hasInlinePart),
      owned: ownedStreams(batch),
      asOf: lowestAsOf(batch),
      earliestMs: this.clock.at(now) - CLOCK_TOLERANCE_MS,
      latestMs: Math.min(...latestMs),
    };
  }

  private rejectExpired(): void {
    const now = performance.now();
    const late = this.waiting.filter((item) => item.deadline <= now);
    if (late.length > 0) this.waiting = this.waiting.filter((item) => item.deadline > now);
    for (const item of late) this.forget(item);
    // A request in flight may still be stored: when its sender retries, the retry is a duplicate.
    for (const item of [...late, ...this.inFlight.filter((item) => item.deadline <= now)]) {
      item.reject(timedOut());
    }
  }

  private forget(item: PendingAppend): void {
    this.waitingEvents -= item.rows.length;
    this.waitingBytes -= item.bytes;
  }

  /** One bad row fails a whole batch: bisect until it is alone. Input validation keeps senders from causing this. */
  private async bisect(batch: readonly PendingAppend[], error: BatchRefused): Promise<void> {
    const [only, other] = batch;
    if (only && !other) {
      if (error.failure === 'conflict') only.resolve({ status: 'conflict' });
      else only.reject(new Error(`The log refused the event: ${messageOf(error)}`));
      return;
    }
    const middle = batch.length >> 1;
    await this.store(batch.slice(0, middle), true);
    await this.store(batch.slice(middle), true);
  }
}

/** Whether the batch changes what is stored about a person that the request was decided on. The next batch finds it stale. */
function isOutdated({ asOf, site, events }: AppendRequest, changed: ReadonlySet<string>): boolean {
  if (asOf === undefined || changed.size === 0) return false;
  const isChanged = (subject: string | undefined) => changed.has(`${site} ${subject}`);
  return (
    events.some(({ personal }) => personal && isChanged(subjectOfPerson(personal))) ||
    asOf.others?.some(isChanged) === true
  );
}

function noteChanges({ category, site, events }: AppendRequest, changed: Set<string>): void {
  if (category !== CHANGING) return;
  for (const { personal } of events) {
    const subject = personal && subjectOfPerson(personal);
    if (subject !== undefined) changed.add(`${site} ${subject}`);
  }
}

/** Whether the stream of the request must have, or gets, a version that depends on what is stored. */
function isCompared({ expected }: AppendRequest): boolean {
  return expected !== 'new';
}

/** Whether the stream's current version must be looked up in all partitions. */
function isLookedUp(expected: AppendRequest['expected']): boolean {
  return expected === 'any' || typeof expected === 'number';
}

function ownedStreams(batch: readonly PendingAppend[]): string | null {
  const owned: object[] = [];
  let until = 0;
  for (const { request, rows } of batch) {
    const n = until + 1;
    until += rows.length;
    const { expected, stream } = request;
    if (typeof expected !== 'object') continue;
    owned.push({ n, until, stream, version: expected.owned, position: expected.position });
  }
  return owned.length > 0 ? JSON.stringify(owned) : null;
}

function lowestAsOf(batch: readonly PendingAppend[]): number | null {
  const lowest = batch.reduce((low, { request }) => Math.min(low, request.asOf?.position ?? low), Number.MAX_VALUE);
  return lowest === Number.MAX_VALUE ? null : lowest;
}

/** Whether the request has a part for the inline projections. */
function hasInlinePart({ request }: PendingAppend): boolean {
  return request.events[0].inline !== undefined;
}

function timedOut(): LogUnavailable {
  return new LogUnavailable('The append timed out');
}

function countEvents(batch: readonly PendingAppend[]): number {
  return batch.reduce((sum, item) => sum + item.rows.length, 0);
}

function answer(
  batch: readonly PendingAppend[],
  outcome: BatchOutcome,
  recent?: RecentEvents,
  noted?: AppendedPositions,
): void {
  const time = new Date(outcome.time).toISOString();
  const lost = outcome.lost && new Map(outcome.lost);
  const conflicts = outcome.conflicts && new Set(outcome.conflicts);
  const stale = outcome.stale && new Set(outcome.stale);
  const paused = outcome.paused && new Set(outcome.paused);
  let index = 0;
  let next = outcome.first ?? 0;
  const appended: RecentRow[] = [];
  let characters = 0;
  let isComplete = true;
  for (const item of batch) {
    const first = index + 1;
    index += item.rows.length;
    const holder = lost?.get(first);
    const stored = outcome.stored?.[index - 1];
    if (stored) {
      noted?.note(stored.position - item.rows.length + 1, stored.position);
      // Not the time of this call: the payload of every attempt contains the time of the stored event.
      item.resolve({ ...stored, status: 'appended', time: new Date(stored.time).toISOString() });
    } else if (conflicts?.has(first)) item.resolve({ status: 'conflict' });
    else if (paused?.has(first)) item.reject(new SitePaused(item.request.site));
    else if (stale?.has(first)) item.resolve({ status: 'stale' });
    else if (holder) item.resolve({ status: 'claimed', by: holder });
    else {
      isComplete &&= addRows(appended, item, next, outcome.time, time);
      next += item.rows.length;
      characters += item.bytes;
      item.resolve({ status: 'appended', position: next - 1, time });
    }
  }
  if (isComplete) recent?.add(outcome.previous, appended, characters);
  if (outcome.first !== null && next > outcome.first) noted?.note(outcome.first, next - 1);
}

/** Returns false if the versions of the events are not known. */
function addRows(
  to: RecentRow[],
  { request, ids }: PendingAppend,
  position: number,
  timeMs: number,
  time: string,
): boolean {
  const version = firstVersion(request.expected);
  if (version === undefined) return false;
  for (let at = 0; at < ids.length; at += 1) {
    const event = request.events[at] as NewEvent;
    to.push(new RecentRow(position + at, timeMs, time, version + at, request, event, ids[at] as string));
  }
  return true;
}
