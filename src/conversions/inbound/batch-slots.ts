/** Batches that are read and stored at a time: by one site, so that no site keeps the others out, and in all. */
const SITE_MAX = 4;
const TOTAL_MAX = 16;

/** Bounds the memory that bodies of batches use. */
export class BatchSlots {
  private readonly bySite = new Map<string, number>();
  private total = 0;

  /** Returns the function that leaves the slot, which may be called more than once; undefined if no slot is free. */
  enter(site: string): (() => void) | undefined {
    const used = this.bySite.get(site) ?? 0;
    if (used >= SITE_MAX || this.total >= TOTAL_MAX) return undefined;
    this.bySite.set(site, used + 1);
    this.total += 1;
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.total -= 1;
      const left = (this.bySite.get(site) as number) - 1;
      if (left > 0) this.bySite.set(site, left);
      else this.bySite.delete(site);
    };
  }
}
