/** A resource takes at most so much of the time: a read that takes a second is repeated after ten. */
const SHARE = 0.1;

/** Whether what is shown of a resource is older than the newest event that changes it, and may be read again. */
export class LiveRead {
  private changedAt = 0;
  private readAt = 0;
  private beganMs = 0;
  private notBeforeMs = 0;
  private isReading = false;

  /** An event that changes the resource is at this position. */
  changed(position: number): void {
    this.changedAt = Math.max(this.changedAt, position);
  }

  /** Events up to this position, or after it, are not known. */
  skipped(position: number): void {
    this.changedAt = position;
    this.readAt = Math.min(this.readAt, position - 1);
  }

  /** @param position as of which the resource is known; undefined after a failure */
  ended(position: number | undefined, nowMs: number): void {
    if (this.isReading) this.notBeforeMs = nowMs + (nowMs - this.beganMs) * (1 / SHARE - 1);
    this.isReading = false;
    this.readAt = position ?? this.readAt;
  }

  get isDue(): boolean {
    return !this.isReading && this.changedAt > this.readAt;
  }

  /** True: the caller reads now. */
  begin(nowMs: number): boolean {
    if (!this.isDue || nowMs < this.notBeforeMs) return false;
    this.isReading = true;
    this.beganMs = nowMs;
    return true;
  }
}
