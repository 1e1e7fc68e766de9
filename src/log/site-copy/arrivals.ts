import { RETAINED_CATEGORIES } from '../retention/retention.js';
import type { CopiedEvent } from './copied-rows.js';
import { SiteCopyRefused, SiteForked } from './site-copy-errors.js';

/** What this log has of the stream of an arriving event. */
export interface StreamHere {
  /** The event with the same version; null if there is none. */
  readonly id: string | null;
  /** The versions that the log has, from and to; null if it has none. */
  readonly lowest: number | null;
  readonly highest: number | null;
  /** Site of its newest event. */
  readonly site: string | null;
  readonly category: string | null;
  /** Subject of the personal part of the event with the same version, in hex. */
  readonly subject: string | null;
}

/** What retention has removed of the site in this log. */
export interface Removed {
  /** All that this log had of the site up to this place in its order, except what retention keeps. */
  readonly place: number;
  /** Nothing of that had a later time. */
  readonly timeMs: number;
}

export interface Arrivals {
  /** Those that the log does not have. */
  readonly missing: readonly CopiedEvent[];
  /** Subjects, in hex, with a personal part here of an event that the other log has erased. */
  readonly erased: readonly string[];
}

/** Compares arriving events, each with its stream, with what the log has. Throws if both logs have continued a stream. */
export function compareArrivals(
  site: string,
  events: readonly CopiedEvent[],
  here: readonly StreamHere[],
  removed: Removed | undefined,
): Arrivals {
  const missing: CopiedEvent[] = [];
  const erased = new Set<string>();
  const reached = new Map<string, number>();
  for (const [index, event] of events.entries()) {
    const { id, stream, version, category, position } = event;
    const { id: stored, lowest, highest, site: ofSite, category: ofCategory, subject } = here[index] as StreamHere;
    if (ofSite !== null && (ofSite !== site || ofCategory !== category))
      throw new SiteCopyRefused(
        `the event at position ${position} of the other log continues a stream that this log has for another site or category`,
      );
    if (stored !== null) {
      if (stored !== id) throw new SiteForked(stream, version, id, stored);
      // A filter of the site may be removed, and its person stay: `findErased` has its position.
      if (event.isErased && subject !== null && category !== 'site') erased.add(subject);
      continue;
    }
    if (event.isErasedOnly) continue;
    // Retention has removed it here: with the start of its stream, or with all of it.
    if (lowest !== null && version < lowest) continue;
    if (removed && !isWhole(event) && wasRemoved(event, removed)) continue;
    const before = reached.get(stream) ?? highest;
    if (before === null ? version > 1 && isWhole(event) : version !== before + 1)
      throw new SiteForked(stream, version, id, undefined);
    reached.set(stream, version);
    missing.push(event);
  }
  return { missing, erased: [...erased] };
}

/** Retention removes the first events of other streams, so that they may arrive without them. */
function isWhole({ category }: CopiedEvent): boolean {
  return RETAINED_CATEGORIES.includes(category);
}

/** A log that was open again after a failover may have stored one with such a place since: it is later than all that was removed. */
function wasRemoved({ order, timeMs }: CopiedEvent, removed: Removed): boolean {
  return order <= removed.place && timeMs <= removed.timeMs;
}
