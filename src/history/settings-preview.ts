import { isOpening, type StoredOpening } from '../conversions/conversion.js';
import { dedupWindowOf } from '../conversions/dedup-key.js';
import { CONVERSION } from '../events/conversion.events.js';
import { SITE, type SiteSettings, streamIdOf } from '../events/site.events.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { positionBefore } from '../sites/position-before.js';
import { type Site, scopeStart } from '../sites/site.js';
import type { BotScorer } from '../visitors/bots/bot-scorer.js';
import { type Compared, compareVisits, VISIT_TYPES, type VisitComparison } from './compare-visits.js';
import { pageBackwards } from './page-backwards.js';
import { type Decision, decisionOf, ShadowRulesEngine, SiteTimeline } from './shadow/shadow-rules.js';

const SPAN_MS = 7 * 24 * 60 * 60 * 1_000;
const EVENTS_MAX = 10_000;
const PAGE_EVENTS = 500;
/** Reading stops after this time; the answer says from when on it covers everything. */
const WITHIN_MS = 4_000;

const CONVERSION_TYPES = ['conversion.received.v1', 'conversion.deduplicated.v1', 'conversion.filtered.v1'] as const;
const TYPES = [...CONVERSION_TYPES, ...VISIT_TYPES];
type ExaminedType = (typeof TYPES)[number];

/** The lists that the score of a visit depends on. */
const SCORED_BY = [
  'blockIps',
  'allowIps',
  'blockUserAgents',
  'blockCountries',
] as const satisfies (keyof SiteSettings)[];

export interface PreviewDependencies {
  readonly log: EventLog;
  readonly scorer: BotScorer;
  readonly dedupSecret: string;
  /** The dedup window of sites that do not set one. */
  readonly defaultWindowMs: number;
  readonly nowMs: number;
}

export interface SettingsPreview {
  /** What was examined: everything from then on. */
  readonly from: string;
  readonly to: string;
  /** Whether that is the whole week. A large site has too much to examine at once. */
  readonly complete: boolean;
  readonly conversions: Readonly<Record<Decision, Compared>>;
  readonly visits: VisitComparison;
  readonly consent: {
    /** Conversions that are sent without what is known of the visit, or not at all. */
    readonly withheld: Compared;
    /** Those of them of which nothing personal leaves. */
    readonly withoutPerson: Compared;
    /** Those of them that are not sent to any platform. */
    readonly notSent: Compared;
  };
  /** Conversions of erased people, which cannot be decided again. */
  readonly undecided: number;
  /** Changed settings whose effect on conversions the log does not tell: it has no email addresses, and only visits are scored again. */
  readonly untold: readonly string[];
}

/** What the settings would have changed in the last seven days, as far back as a few seconds of reading reach. */
export async function previewSettings(
  dependencies: PreviewDependencies,
  site: Site,
  change: Partial<SiteSettings>,
): Promise<SettingsPreview> {
  const { log, dedupSecret, defaultWindowMs, nowMs } = dependencies;
  const after: SiteSettings = { ...site.settings, ...change };
  const fromMs = nowMs - SPAN_MS;
  // A longer window finds duplicates of conversions from before the week.
  const claimsMs = change.dedupWindow === undefined ? 0 : dedupWindowOf(after, defaultWindowMs);
  // Visits would use up what may be read, and the window does not concern them.
  const isOnlyWindow = change.dedupWindow !== undefined && Object.keys(change).length === 1;
  const types = isOnlyWindow ? CONVERSION_TYPES : TYPES;
  const { events, reachedMs } = await readBack(log, site, fromMs - claimsMs, types);
  // Nothing is covered if reading did not even reach back by the dedup window.
  const coveredMs = Math.min(nowMs, Math.max(fromMs, reachedMs + claimsMs));
  const timeline = new SiteTimeline(await log.readStream(SITE, streamIdOf(site.host)));
  const engine = new ShadowRulesEngine({ settings: {}, site: change }, timeline, dedupSecret, defaultWindowMs);
  const conversions = events.filter(isOpening);
  const firsts = await readFirsts(log, conversions);
  const preview = emptyPreview();
  for (const event of conversions) engine.expect(event);
  for (const first of firsts.values())
    if (first.position < (conversions[0]?.position ?? 0)) engine.addEarlierClaim(first);
  for (const event of conversions) {
    if (Date.parse(event.time) < coveredMs) engine.addEarlierClaim(event);
    else
      addConversion(
        preview,
        event,
        engine.decide(event, isFiltered(firsts.get(firstOf(event) ?? ''))),
        timeline,
        after,
      );
  }
  const rescoring = SCORED_BY.filter((name) => change[name] !== undefined);
  const scorer = rescoring.length > 0 ? dependencies.scorer : undefined;
  const covered = events.filter(({ time }) => Date.parse(time) >= coveredMs);
  return {
    ...preview,
    visits: compareVisits(covered, after, scorer),
    from: new Date(coveredMs).toISOString(),
    to: new Date(nowMs).toISOString(),
    complete: coveredMs === fromMs,
    untold: [...rescoring, ...untoldOf(site.settings, change)],
  };
}

/** Events of the site since a time, in log order, and the time since when they are all read. */
async function readBack(log: EventLog, { host: site, since }: Site, sinceMs: number, types: readonly ExaminedType[]) {
  const untilMs = performance.now() + WITHIN_MS;
  const events: StoredEvent<ExaminedType>[] = [];
  const least = Math.max(scopeStart({ since }), await positionBefore(log, new Date(sinceMs), site));
  let before: number | undefined = (await log.head()) + 1;
  while (before !== undefined && before > least + 1) {
    if (events.length >= EVENTS_MAX || performance.now() > untilMs) {
      // Of this site: another one may have come here with older events.
      const [reached] = await log.read({ site, after: before - 1, limit: 1 });
      return { events: events.reverse(), reachedMs: reached ? Date.parse(reached.time) : Number.POSITIVE_INFINITY };
    }
    const page: { events: StoredEvent<ExaminedType>[]; next?: number } = await pageBackwards<ExaminedType>(log, {
      ...{ site, types, before, limit: PAGE_EVENTS },
    });
    events.push(...page.events.filter(({ position }) => position > least));
    before = page.next;
  }
  return { events: events.reverse(), reachedMs: sinceMs };
}

/** The conversions that duplicates repeat, by id. */
async function readFirsts(log: EventLog, conversions: readonly StoredOpening[]): Promise<Map<string, StoredOpening>> {
  const ids = [...new Set(conversions.flatMap((event) => firstOf(event) ?? []))];
  const openings = ids.length === 0 ? [] : (await log.readOpenings(CONVERSION, ids)).filter(isOpening);
  return new Map(openings.map((event) => [event.data.conversionId, event]));
}

function firstOf(event: StoredOpening): string | undefined {
  return event.type === 'conversion.deduplicated.v1' ? event.data.firstConversionId : undefined;
}

function isFiltered(event: StoredOpening | undefined): boolean {
  return event?.type === 'conversion.filtered.v1';
}

type Counted = Pick<SettingsPreview, 'conversions' | 'consent'> & { undecided: number };

function emptyPreview(): Counted {
  const none = (): Compared => ({ was: 0, would: 0 });
  return {
    conversions: { received: none(), deduplicated: none(), filtered: none() },
    consent: { withheld: none(), withoutPerson: none(), notSent: none() },
    undecided: 0,
  };
}

function addConversion(
  preview: Counted,
  event: StoredOpening,
  would: Decision | undefined,
  timeline: SiteTimeline,
  after: SiteSettings,
): void {
  const { data, position } = event;
  // Neither counts in any number.
  if (data.trial || data.correction) return;
  if (would === undefined) {
    preview.undecided += 1;
    return;
  }
  const was = decisionOf(event);
  preview.conversions[was].was += 1;
  preview.conversions[would].would += 1;
  if (was !== 'received' || would !== 'received') return;
  const { withheld, consent = 'unknown' } = data;
  const { withhold } = timeline.at(position).settings;
  const isMissing = withheld === 'consent_missing' || (withheld === undefined && consent === 'unknown');
  const wasWithheld = withheld !== undefined;
  const wouldBe = isMissing ? after.consentRequired : wasWithheld;
  add(preview.consent.withheld, wasWithheld, wouldBe);
  const { withoutPerson, notSent } = preview.consent;
  add(withoutPerson, wasWithheld && withhold === 'personal', wouldBe && after.withhold === 'personal');
  add(notSent, wasWithheld && withhold === 'everything', wouldBe && after.withhold === 'everything');
}

function add(compared: Compared, was: boolean, would: boolean): void {
  if (was) compared.was += 1;
  if (would) compared.would += 1;
}

function untoldOf(before: SiteSettings, { blocked, blockDisposable }: Partial<SiteSettings>): string[] {
  const domains = (list: readonly string[]) => list.filter((entry) => entry.startsWith('@')).join();
  return [
    ...(blocked !== undefined && domains(blocked) !== domains(before.blocked) ? ['blocked'] : []),
    ...(blockDisposable === undefined ? [] : ['blockDisposable']),
  ];
}
