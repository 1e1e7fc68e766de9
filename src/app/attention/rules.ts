import { isDeepStrictEqual } from 'node:util';
import { ALERT_RULES_STREAM, LOG, type LogEvent, NO_SITE } from '../../events/log.events.js';
import type { Actor } from '../../kernel/command.js';
import type { EventLog } from '../../log/event-log.js';

/** From when on something needs attention, as far as it is a matter of taste. Stored as a whole; what is not set has its default. */
export interface AlertRules {
  /** Refused conversions of a connection in the last day, in percent. */
  readonly refusedPercent: number;
  /** How many times the usual gap between two conversions, in the same hours of the weeks before, a site may be silent. */
  readonly silentGaps: number;
  /** How much fewer conversions than usual are matched to a visit, in percent of the usual share. */
  readonly matchRateDropPercent: number;
  /** How long before its end an access token of a platform is reported. */
  readonly connectionExpiryDays: number;
  /** The same for API tokens. */
  readonly tokenExpiryDays: number;
}

export const DEFAULT_RULES: AlertRules = {
  refusedPercent: 10,
  silentGaps: 10,
  matchRateDropPercent: 30,
  connectionExpiryDays: 7,
  tokenExpiryDays: 14,
};

/** The limits of each rule. */
export const RULE_LIMITS: Readonly<Record<keyof AlertRules, { readonly min: number; readonly max: number }>> = {
  refusedPercent: { min: 1, max: 100 },
  silentGaps: { min: 3, max: 1_000_000 },
  matchRateDropPercent: { min: 5, max: 100 },
  connectionExpiryDays: { min: 1, max: 90 },
  tokenExpiryDays: { min: 1, max: 90 },
};

/** What was set, or the defaults. */
export async function readRules(log: Pick<EventLog, 'readEnds'>): Promise<AlertRules> {
  const [end] = await log.readEnds(LOG, [ALERT_RULES_STREAM]);
  return end?.type === 'log.alert_rules_changed.v1' ? { ...DEFAULT_RULES, ...end.data } : DEFAULT_RULES;
}

/** Changes those that are named. */
export async function changeRules(log: EventLog, actor: Actor, changes: Partial<AlertRules>): Promise<AlertRules> {
  const before = await readRules(log);
  const data = { ...before, ...changes };
  if (isDeepStrictEqual(data, before)) return before;
  const event: LogEvent = { type: 'log.alert_rules_changed.v1', data };
  const of = { category: LOG, stream: ALERT_RULES_STREAM, expected: 'any', site: NO_SITE, actor } as const;
  await log.append({ ...of, events: [event] });
  return data;
}
