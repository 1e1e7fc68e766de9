/** Projections fold an event some hundred milliseconds after the stream has it. */
const SOON_MS = 500;
const EVERY_MS = 2_000;

/** What pages do after events, each work once however many events ask for it: soon, and all together at most every two seconds. */
export class Updates {
  private readonly asked = new Set<() => void>();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private ranMs = Number.NEGATIVE_INFINITY;

  constructor(private isOn: boolean) {}

  ask(work: () => void): void {
    this.asked.add(work);
    this.schedule();
  }

  cancel(work: () => void): void {
    this.asked.delete(work);
  }

  /** What was asked for while it is off is done when it is on again. */
  turn(isOn: boolean): void {
    this.isOn = isOn;
    this.schedule();
  }

  private schedule(): void {
    if (!this.isOn || this.asked.size === 0) return;
    this.timer ??= setTimeout(() => this.run(), Math.max(SOON_MS, this.ranMs + EVERY_MS - performance.now()));
  }

  private run(): void {
    this.timer = undefined;
    if (!this.isOn) return;
    const works = [...this.asked];
    this.asked.clear();
    this.ranMs = performance.now();
    for (const work of works) work();
  }
}
