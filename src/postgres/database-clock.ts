import { uptime } from 'node:os';
import type { Clock } from '../kernel/clock.js';
import { formatDuration } from '../kernel/durations.js';

/** A larger change of the database's clock against this process's monotonic clock is a step. */
export const STEP_MS = 5_000;
/** A larger difference between the database's clock and the wall clock of this process is reported. */
export const DIFFERENCE_MAX_MS = 60_000;
/** How long a clock that stepped, or that nothing confirms at the start, must be steady before its time is followed. */
export const DISTRUST_MS = 30_000;
/** Two clocks drift apart by less than this share of the elapsed time. */
const DRIFT = 0.001;

/** The clocks of this process. */
interface ProcessClocks {
  monotonicMs(): number;
  wallMs(): number;
  /** Time since the machine started. It includes suspension, during which the monotonic clock stops. */
  sinceBootMs(): number;
}

const PROCESS_CLOCKS: ProcessClocks = {
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  sinceBootMs: () => uptime() * 1_000,
};

/** One reading of the database's clock. Both other times are of this process's monotonic clock. */
export interface ClockSample {
  readonly requestedMs: number;
  readonly databaseMs: number;
  readonly answeredMs: number;
}

export interface ClockStep {
  /** The database's time that was expected, and the one that was sampled. */
  readonly beforeMs: number;
  readonly afterMs: number;
  /** The new time is followed at once. Otherwise appends are refused until the clock is steady or steps back. */
  readonly isTrusted: boolean;
}

/** Bounds of the database's clock minus the monotonic clock, as of a moment of the monotonic clock. */
interface Offset {
  readonly low: number;
  readonly high: number;
  readonly atMs: number;
}

/** How far this process's other clocks are from its monotonic clock. */
interface OwnOffsets {
  readonly wall: number;
  readonly sinceBoot: number;
}

/**
 * Estimates the database's time between samples from this process's monotonic clock, so that a wrong wall clock changes no
 * judgement. After a step of the database's clock the time before it continues until the new one is trusted.
 */
export class DatabaseClock implements Clock {
  private trusted: Offset;
  private own: OwnOffsets;
  private requestedMs: number;
  /** The offset after a step that is not trusted yet. */
  private stepped: { offset: Offset; readonly sinceMs: number } | undefined;
  private readonly listeners = new Set<(step: ClockStep) => void>();

  /** `newestEventMs`: the time of the newest event in the log. */
  constructor(
    first: ClockSample,
    newestEventMs: number | undefined,
    private readonly clocks: ProcessClocks = PROCESS_CLOCKS,
  ) {
    this.own = this.readOwnOffsets();
    this.requestedMs = first.requestedMs;
    const offset = offsetOf(first);
    const atMs = first.answeredMs;
    const known = [atMs + this.own.wall, newestEventMs ?? Number.NaN];
    const isConfirmed = known.some((ms) => Math.abs(first.databaseMs - ms) <= DIFFERENCE_MAX_MS);
    // Like a step from the time of this process: the database's clock may be wrong for just this moment.
    this.trusted = isConfirmed ? offset : { low: this.own.wall, high: this.own.wall, atMs };
    this.stepped = isConfirmed ? undefined : { offset, sinceMs: atMs };
  }

  nowMs(): number {
    return this.at(this.clocks.monotonicMs());
  }

  /** The database's time at a moment of this process's monotonic clock (`performance.now()`). */
  at(monotonicMs: number): number {
    return Math.floor(monotonicMs + middle(this.trusted));
  }

  /** The database's clock, as last sampled, minus the wall clock of this process. */
  differenceMs(): number {
    return this.clocks.monotonicMs() + middle(this.stepped?.offset ?? this.trusted) - this.clocks.wallMs();
  }

  /** Why nothing may be appended now; undefined if the clock is trusted. */
  refusal(): string | undefined {
    if (!this.stepped) return undefined;
    const step = describeStep(middle(this.stepped.offset) - middle(this.trusted));
    return `the database's clock jumped ${step}; appends are refused until it is steady for ${formatDuration(DISTRUST_MS)}`;
  }

  /** What an operator should know about the clock; undefined if nothing. */
  problem(): string | undefined {
    const differenceMs = this.differenceMs();
    return (
      this.refusal() ?? (Math.abs(differenceMs) > DIFFERENCE_MAX_MS ? describeDifference(differenceMs) : undefined)
    );
  }

  /** Calls the listener at each step. Returns a function that ends this. */
  onStep(listener: (step: ClockStep) => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  observe(sample: ClockSample): void {
    // Two samples can overtake each other: the older one would show a step back.
    if (sample.requestedMs < this.requestedMs) return;
    this.requestedMs = sample.requestedMs;
    const offset = offsetOf(sample);
    const own = this.readOwnOffsets();
    const suspendedMs = own.sinceBoot - this.own.sinceBoot;
    if (isNear(this.trusted, offset)) {
      if (this.stepped) this.report(this.stepped.offset, offset, true);
      this.trust(narrowed(this.trusted, offset), own);
    } else if (isNear(shifted(this.trusted, suspendedMs), offset)) {
      // Not a step of the database's clock: the monotonic clock stopped.
      this.trust(offset, own);
    } else if (this.stepped && isNear(this.stepped.offset, offset)) {
      this.stepped.offset = narrowed(this.stepped.offset, offset);
      if (sample.answeredMs - this.stepped.sinceMs >= DISTRUST_MS) this.trust(this.stepped.offset, own);
    } else {
      const isTrusted = this.isConfirmed(offset, own);
      this.report(this.stepped?.offset ?? this.trusted, offset, isTrusted);
      if (isTrusted) this.trust(offset, own);
      else this.stepped = { offset, sinceMs: sample.answeredMs };
    }
  }

  /** A wall clock that stepped along confirms nothing: both may read the same wrong clock. */
  private isConfirmed(offset: Offset, own: OwnOffsets): boolean {
    return Math.abs(middle(offset) - own.wall) <= DIFFERENCE_MAX_MS && Math.abs(own.wall - this.own.wall) <= STEP_MS;
  }

  private trust(offset: Offset, own: OwnOffsets): void {
    this.trusted = offset;
    this.own = own;
    this.stepped = undefined;
  }

  private report(before: Offset, after: Offset, isTrusted: boolean): void {
    const step = { beforeMs: after.atMs + middle(before), afterMs: after.atMs + middle(after), isTrusted };
    for (const listener of this.listeners) listener(step);
  }

  private readOwnOffsets(): OwnOffsets {
    const monotonicMs = this.clocks.monotonicMs();
    return { wall: this.clocks.wallMs() - monotonicMs, sinceBoot: this.clocks.sinceBootMs() - monotonicMs };
  }
}

/** For example "400d ahead". */
export function describeStep(stepMs: number): string {
  return `${approximately(stepMs)} ${stepMs > 0 ? 'ahead' : 'back'}`;
}

/** For an operator. Either clock can be the wrong one. */
export function describeDifference(differenceMs: number): string {
  const relation = differenceMs > 0 ? 'ahead of' : 'behind';
  return `the database's clock is ${approximately(differenceMs)} ${relation} the clock of this machine`;
}

/** Rounded to a unit of which there are at least two. */
function approximately(ms: number): string {
  const sizeMs = Math.abs(ms);
  const unitMs = [86_400_000, 3_600_000, 60_000].find((unit) => sizeMs >= 2 * unit) ?? 1_000;
  return formatDuration(Math.round(sizeMs / unitMs) * unitMs);
}

/** The database read its clock at some moment between request and answer. */
function offsetOf({ requestedMs, databaseMs, answeredMs }: ClockSample): Offset {
  return { low: databaseMs - answeredMs, high: databaseMs - requestedMs, atMs: answeredMs };
}

function middle({ low, high }: Offset): number {
  return (low + high) / 2;
}

function shifted({ low, high, atMs }: Offset, byMs: number): Offset {
  return { low: low + byMs, high: high + byMs, atMs };
}

/** The earlier bounds, widened by what the clocks may have drifted since. */
function drifted({ low, high, atMs }: Offset, nowMs: number): Offset {
  const driftMs = Math.max(0, nowMs - atMs) * DRIFT;
  return { low: low - driftMs, high: high + driftMs, atMs: nowMs };
}

function isNear(earlier: Offset, later: Offset): boolean {
  const { low, high } = drifted(earlier, later.atMs);
  return Math.max(later.low - high, low - later.high) <= STEP_MS;
}

/** What both samples allow. A slow one thus takes nothing from a fast one. Without overlap the later one holds. */
function narrowed(earlier: Offset, later: Offset): Offset {
  const known = drifted(earlier, later.atMs);
  const low = Math.max(known.low, later.low);
  const high = Math.min(known.high, later.high);
  return low <= high ? { low, high, atMs: later.atMs } : later;
}
