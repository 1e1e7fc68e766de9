/** A difference that the way of an answer and the whole seconds of its header explain. */
const TOLERATED_MS = 30_000;

/** The clock of the service: with that of a browser, which may be hours off, a page would ask for another period. */
export class ServerClock {
  private aheadMs = 0;
  private measuredMs = 0;

  /** @param date the `Date` header of an answer that just arrived */
  observe(date: string | null, browserMs = Date.now()): void {
    const aheadMs = Date.parse(date ?? '') - browserMs;
    if (Number.isNaN(aheadMs)) return;
    this.measuredMs = aheadMs;
    this.aheadMs = Math.abs(aheadMs) > TOLERATED_MS ? aheadMs : 0;
  }

  /**
   * For an end of what is selected, which a difference of seconds would move. Not before anything that an answer has told of: the
   * header has whole seconds, so the answer is of their end at the latest.
   */
  exactMs(browserMs = Date.now()): number {
    return browserMs + this.measuredMs + 999;
  }

  nowMs(browserMs = Date.now()): number {
    return browserMs + this.aheadMs;
  }
}
