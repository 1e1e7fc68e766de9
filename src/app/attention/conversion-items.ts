import { counted } from '../../kernel/counted.js';
import type { Site } from '../../sites/site.js';
import type { AttentionItem } from './attention-item.js';
import type { AlertRules } from './rules.js';

const HOUR_MS = 60 * 60 * 1_000;
const WEEK_MS = 7 * 24 * HOUR_MS;
/** Weeks before the silence that the site must have been there for. */
const WEEKS_MIN = 2;
/** The last two days; fewer conversions say nothing about a share. */
const RECENT_MIN = 100;
/** The four weeks before. */
const USUAL_MIN = 500;
/** Standard deviations: a share of few conversions varies by itself. */
const DEVIATIONS = 3;

/** That no conversion was received for a while, and how many were in the same hours of earlier weeks. */
export interface Silence {
  readonly sinceMs: number;
  readonly untilMs: number;
  /** The fewest of the same time and of one an hour earlier or later, by week, the last week first: clocks change by an hour. */
  readonly usual: readonly number[];
}

export interface Share {
  readonly conversions: number;
  readonly matched: number;
}

export interface MatchRates {
  readonly recent: Share;
  readonly usual: Share;
}

/** The week with the fewest conversions counts, so that an exceptional one raises no expectation. */
export function silenceItems(
  { host, inbound, createdAt }: Pick<Site, 'host' | 'inbound' | 'createdAt'>,
  silence: Silence | undefined,
  { silentGaps }: AlertRules,
): AttentionItem[] {
  if (!silence || !inbound) return [];
  const { sinceMs, untilMs } = silence;
  const usual = silence.usual.filter((_, index) => sinceMs - (index + 1) * WEEK_MS - HOUR_MS >= Date.parse(createdAt));
  if (usual.length < WEEKS_MIN || Math.min(...usual) < silentGaps) return [];
  const least = Math.min(...usual);
  const hours = Math.floor((untilMs - sinceMs) / HOUR_MS);
  return [
    {
      ...{ kind: 'no_conversions', severity: 'error', time: new Date(sinceMs).toISOString(), count: least },
      detail: `No conversion ${hours > 0 ? `for ${counted(hours, 'hour')}` : 'for less than an hour'}. In the same hours of earlier weeks there were at least ${least}.`,
      action: { label: 'Show the sync log', method: 'GET', route: `/sites/${host}/sync-log` },
    },
  ];
}

export function matchRateItems(
  host: string,
  rates: MatchRates | undefined,
  { matchRateDropPercent }: AlertRules,
): AttentionItem[] {
  if (!rates || rates.recent.conversions < RECENT_MIN || rates.usual.conversions < USUAL_MIN) return [];
  const { conversions } = rates.recent;
  const recent = rates.recent.matched / conversions;
  const usual = rates.usual.matched / rates.usual.conversions;
  const deviation = Math.sqrt((usual * (1 - usual)) / conversions);
  if (recent >= usual * (1 - matchRateDropPercent / 100) || usual - recent <= DEVIATIONS * deviation) return [];
  return [
    {
      ...{ kind: 'match_rate_down', severity: 'warning', count: conversions },
      detail: `Of the conversions since yesterday ${percent(recent)} were matched to a visit, of those of the four weeks before ${percent(usual)}. Check that the tag is on every page.`,
      action: { label: 'Show the match quality', method: 'GET', route: `/sites/${host}/match-quality` },
    },
  ];
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
