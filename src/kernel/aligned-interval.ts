/**
 * Like `setInterval`, but runs at multiples of the interval on the monotonic clock. So the polls of a process wake it up together,
 * and it needs less CPU while it is idle: `docs/benchmarks-history.md`.
 */
export class AlignedInterval {
  private timer: NodeJS.Timeout;
  private keepsProcess = true;

  /** The first run is after half to one and a half intervals. */
  constructor(
    private readonly run: () => void,
    private readonly everyMs: number,
  ) {
    this.timer = this.arm();
  }

  stop(): void {
    clearTimeout(this.timer);
  }

  /** It does not keep the process running. */
  unref(): this {
    this.keepsProcess = false;
    this.timer.unref();
    return this;
  }

  private arm(): NodeJS.Timeout {
    const now = performance.now();
    // The nearest one is that of now: a timer may be early by a millisecond.
    const next = (Math.round(now / this.everyMs) + 1) * this.everyMs;
    const timer = setTimeout(() => {
      this.timer = this.arm();
      this.run();
    }, next - now);
    return this.keepsProcess ? timer : timer.unref();
  }
}
