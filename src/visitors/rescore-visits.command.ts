import type { BotVerdict } from '../events/visitor.events.js';
import { type Actor, Command } from '../kernel/command.js';
import type { Site } from '../sites/site.js';

export interface VerdictChange {
  readonly position: number;
  readonly time: string;
  readonly type: string;
  readonly before: BotVerdict;
  readonly after: BotVerdict;
  /** By the site's current threshold. */
  readonly verdict: 'becomes_bot' | 'becomes_person' | 'stays';
}

/** Contains no personal data. */
export interface RescoreResult {
  readonly judged: number;
  /** Visits of erased people: their signals are gone. */
  readonly erased: number;
  /** Changes that cross the threshold first, then in log order. */
  readonly changes: readonly VerdictChange[];
  /** How many of the changes were appended to the log. */
  readonly applied: number;
}

/** Scores stored visits again, with the handler's bot list and the site's current rules. */
export class RescoreVisits extends Command<RescoreResult> {
  constructor(
    readonly actor: Actor,
    readonly site: Site,
    /** Position range: after the first (exclusive), until the second (inclusive). */
    readonly after: number,
    readonly until: number,
    /** Whether changed verdicts are appended to the log. */
    readonly apply: boolean,
  ) {
    super();
  }
}
