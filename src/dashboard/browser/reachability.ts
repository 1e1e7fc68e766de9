import { backoffMs } from './stream/backoff.js';

/** Whether the service answers. Every request reports it; while it does not answer, it is asked again and again. */
export class Reachability {
  isReachable = true;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly listeners = new Set<() => void>();

  /** @param ask resolves with any answer of the service, and rejects without one */
  constructor(private readonly ask: () => Promise<unknown>) {}

  answered(): void {
    clearTimeout(this.timer);
    this.failures = 0;
    this.set(true);
  }

  /** Requests fail side by side: the first of them starts the asking, and the others do not delay it. */
  notAnswered(): void {
    if (this.isReachable) this.askLater();
    this.set(false);
  }

  askNow(): void {
    clearTimeout(this.timer);
    void this.ask().then(
      () => this.answered(),
      () => {
        this.askLater();
        this.set(false);
      },
    );
  }

  private askLater(): void {
    this.failures += 1;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.askNow(), backoffMs(this.failures));
  }

  /** Calls the listener whenever the service becomes reachable or unreachable. */
  watch(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private set(isReachable: boolean): void {
    if (this.isReachable === isReachable) return;
    this.isReachable = isReachable;
    for (const listener of this.listeners) listener();
  }
}
