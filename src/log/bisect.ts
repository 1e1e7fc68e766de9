/** Places that one query reads. */
const PROBES = 63;

/** The first entry after a place. */
export interface NextEntry {
  readonly place: number;
  /** Whether it is among those whose last one is looked for. */
  readonly isBefore: boolean;
}

/**
 * Place of the last entry that is before something, where entries up to `high` are in order; 0 if none is. Reads several places at
 * a time, because a query costs more than reading a place.
 */
export async function findLastBefore(
  high: number,
  readNext: (places: readonly number[]) => Promise<ReadonlyMap<number, NextEntry>>,
): Promise<number> {
  let low = 0;
  for (let end = high; low < end; ) {
    const distance = Math.ceil((end - low) / (PROBES + 1));
    const places = Array.from({ length: PROBES }, (_, index) => low + index * distance).filter((place) => place < end);
    const next = await readNext(places);
    for (const place of places) {
      const entry = next.get(place);
      if (!entry?.isBefore) {
        end = place;
        break;
      }
      low = entry.place;
    }
  }
  return low;
}
