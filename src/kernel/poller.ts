import { AlignedInterval } from './aligned-interval.js';

/** Repeats work at an interval and on demand, one run at a time. A run that fails is not reported: the next one repeats it. */
export class Poller {
  private timer: AlignedInterval | undefined;
  private running: Promise<void> | undefined;
  private stopping = false;

  constructor(private readonly work: () => Promise<void>) {}

  /** Once `stop` was called: work that takes long ends early. */
  get isStopping(): boolean {
    return this.stopping;
  }

  start(everyMs: number): void {
    this.timer = new AlignedInterval(() => this.poll(), everyMs);
  }

  poll(): void {
    if (this.stopping) return;
    this.running ??= this.work()
      .catch(() => {})
      .finally(() => {
        this.running = undefined;
      });
  }

  /** Resolves when the run in progress has ended. */
  async settled(): Promise<void> {
    await this.running;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.timer?.stop();
    await this.running;
  }
}
