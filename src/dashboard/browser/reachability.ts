import { backoffMs } from './stream/backoff.js';

/** While someone waits for the service to be back. */
const ASKED_MAX_MS = 5_000;

/** Whether the service answers. Every sign of it is reported; while there is none, it is asked again and again. */
export class Reachability {
  /** While the service does not answer: when it last did. */
  since: number | undefined;
  private lastMs: number;
  private failures = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private asking: Promise<void> | undefined;
  private readonly listeners = new Set<() => void>();

  /**
   * @param ask resolves with any answer of the service, and rejects without one
   * @param isShown whether the tab is: a hidden one asks nothing
   */
  constructor(
    private readonly ask: () => Promise<unknown>,
    private readonly isShown: () => boolean = () => true,
    private readonly nowMs: () => number = Date.now,
  ) {
    this.lastMs = nowMs();
  }

  get isReachable(): boolean {
    return this.since === undefined;
  }

  /** It gave a sign of life. */
  answered(): void {
    clearTimeout(this.timer);
    this.failures = 0;
    this.lastMs = this.nowMs();
    this.set(undefined);
  }

  /** Requests fail side by side: the first of them starts the asking, and the others do not delay it. */
  notAnswered(): void {
    if (!this.isReachable) return;
    this.askLater();
    this.set(this.lastMs);
  }

  /** Also to find out whether it answers. */
  askNow(): void {
    clearTimeout(this.timer);
    this.asking ??= this.ask()
      .then(
        () => this.answered(),
        () => {
          this.askLater();
          this.set(this.lastMs);
        },
      )
      .finally(() => {
        this.asking = undefined;
      });
  }

  /** When the tab is shown or hidden. */
  shown(): void {
    if (!this.isReachable && this.isShown()) this.askNow();
  }

  private askLater(): void {
    this.failures += 1;
    clearTimeout(this.timer);
    const pauseMs = Math.min(backoffMs(this.failures), ASKED_MAX_MS);
    this.timer = setTimeout(() => this.isShown() && this.askNow(), pauseMs);
  }

  /** Calls the listener whenever the service becomes reachable or unreachable. */
  watch(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private set(since: number | undefined): void {
    if ((this.since === undefined) === (since === undefined)) return;
    this.since = since;
    for (const listener of this.listeners) listener();
  }
}
