import type { SiteSettings } from '../events/site.events.js';
import type { BotVerdict } from '../events/visitor.events.js';
import type { StoredEvent } from '../log/event.js';
import { type BotScorer, siteRulesOf } from '../visitors/bots/bot-scorer.js';
import { reachesBotThreshold } from '../visitors/matcher.js';

export const VISIT_TYPES = ['visitor.visited.v1', 'visitor.identified.v1', 'visitor.bot_detected.v1'] as const;
type VisitEvent = StoredEvent<(typeof VISIT_TYPES)[number]>;

/** A number as it was recorded, and as it would have been. */
export interface Compared {
  was: number;
  would: number;
}

/** Number of `examined` visits that the tag reported, and those removed as bots. */
export interface VisitComparison {
  readonly examined: number;
  readonly removed: Compared;
}

interface ExaminedVisit {
  /** Recorded calls of the visit: the verdict then, and with the settings. */
  readonly calls: { readonly was: BotVerdict; readonly would: BotVerdict }[];
  detected?: StoredEvent<'visitor.bot_detected.v1'>['data'];
}

/**
 * How many visits were removed as bots, and how many would have been. A visit has a call for each page with click ids or campaign
 * fields, and one for the email; it is removed once. `scorer`: only if the score depends on what changes.
 */
export function compareVisits(
  events: readonly StoredEvent[],
  after: SiteSettings,
  scorer: BotScorer | undefined,
): VisitComparison {
  const visits = new Map<string, ExaminedVisit>();
  for (const event of events) {
    if (!isVisitEvent(event)) continue;
    const visit: ExaminedVisit = visits.get(event.data.visit) ?? { calls: [] };
    visits.set(event.data.visit, visit);
    if (event.type === 'visitor.bot_detected.v1') visit.detected = event.data;
    else visit.calls.push({ was: event.data.bot, would: verdictOf(event, after, scorer) });
  }
  const removed = { was: 0, would: 0 };
  for (const visit of visits.values()) {
    if (visit.detected?.mode === 'enforce') removed.was += 1;
    if (after.botMode === 'enforce' && verdictsOf(visit).some((bot) => reachesBotThreshold(bot, after)))
      removed.would += 1;
  }
  return { examined: visits.size, removed };
}

/** The detection counts by itself if its call was not recorded: a page view without click ids leaves nothing else. */
function verdictsOf({ calls, detected }: ExaminedVisit): BotVerdict[] {
  const isRecorded = calls.some(({ was }) => was.score === detected?.score);
  return [...calls.map(({ would }) => would), ...(detected && !isRecorded ? [detected] : [])];
}

/** Signals of erased people are gone: they keep their score. */
function verdictOf(
  { data, personal }: Exclude<VisitEvent, StoredEvent<'visitor.bot_detected.v1'>>,
  after: SiteSettings,
  scorer: BotScorer | undefined,
): BotVerdict {
  const signals = personal?.signals;
  return scorer && signals ? scorer.score(signals, siteRulesOf(after)) : data.bot;
}

function isVisitEvent(event: StoredEvent): event is VisitEvent {
  return (VISIT_TYPES as readonly string[]).includes(event.type);
}
