import { withTimeout } from './with-timeout.js';

const POLL_MS = 20;
/** The process exits this much before the grace period ends, so that the supervisor sees an exit and does not kill it. */
const EXIT_BEFORE_END = 0.05;

/**
 * The deadline that all stages of a shutdown share. Each stage leaves time for those after it; what it has not finished is
 * found in the log by another instance or by the next start.
 */
export class Shutdown {
  private deadline: number | undefined;
  private readonly companions: (() => Promise<void>)[] = [];
  private stopping: Promise<unknown> = Promise.resolve();

  constructor(private readonly graceMs: number) {}

  /** Adds what runs beside the application: it is stopped as soon as the shutdown begins. */
  accompany(stop: () => Promise<void>): void {
    if (this.deadline === undefined) this.companions.push(stop);
    // The signal came while the service started.
    else this.stopping = Promise.allSettled([this.stopping, stop()]);
  }

  /** Resolves when everything that runs beside the application has stopped. */
  companionsStopped(): Promise<unknown> {
    return this.stopping;
  }

  /** Starts the grace period, once. */
  begin(): void {
    if (this.deadline !== undefined) return;
    this.deadline = performance.now() + this.graceMs * (1 - EXIT_BEFORE_END);
    this.stopping = Promise.allSettled(this.companions.map((stop) => stop()));
  }

  /** Begins, and ends the process with 0 at the deadline: a stage may wait for a database that does not answer. */
  beginAndExit(): void {
    this.begin();
    setTimeout(() => process.exit(0), this.remainingMs()).unref();
  }

  /** Half of the time is over: nothing may wait for anything slow any more. */
  get isUrgent(): boolean {
    return this.deadline !== undefined && this.remainingMs() < this.graceMs / 2;
  }

  /** Before it begins, the whole grace period remains. */
  remainingMs(): number {
    return this.deadline === undefined ? this.graceMs : Math.max(0, this.deadline - performance.now());
  }

  /** Waits for work, but leaves this share of the grace period to later stages. A failure does not stop the shutdown. */
  async within(work: Promise<unknown>, share: number): Promise<void> {
    await withTimeout(work, this.remainingMs() - share * this.graceMs).catch(() => {});
  }

  /** Waits until a condition holds, but leaves this share of the grace period to later stages. */
  async until(condition: () => boolean, share: number): Promise<void> {
    while (!condition() && this.remainingMs() > share * this.graceMs) {
      await new Promise((next) => setTimeout(next, POLL_MS));
    }
  }
}
