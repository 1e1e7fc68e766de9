import type { StoredOpening } from '../../conversions/conversion.js';
import { dedupKey, dedupWindowOf } from '../../conversions/dedup-key.js';
import { filterReason } from '../../conversions/filter.js';
import { subjectOfPerson } from '../../events/person-keys.js';
import type { SiteSettings } from '../../events/site.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { evolve, type Site } from '../../sites/site.js';
import { filtersBots } from '../../visitors/matcher.js';

/** The rules to change. Everything else stays as it was at that time. */
export interface ShadowRules {
  readonly dedupWindowMs?: number | undefined;
  readonly botThreshold?: number | undefined;
  /** Settings of the site. */
  readonly site?: Partial<SiteSettings> | undefined;
  /** By connection and name; an empty value removes a setting. */
  readonly settings: Readonly<Partial<Record<ConnectionName, Readonly<Record<string, string>>>>>;
}

/** The decision on a request: the type of its opening event. */
export type Decision = 'received' | 'deduplicated' | 'filtered';

export const NO_CHANGES: ShadowRules = { settings: {} };

/** A place in the log. */
export interface Moment {
  readonly position: number;
  readonly timeMs: number;
}

/** The state of a site by position. */
export class SiteTimeline {
  private readonly states: (Moment & { readonly site: Site })[] = [];

  constructor(events: readonly StoredEvent[]) {
    let site: Site | undefined;
    for (const event of events) {
      site = evolve(site, event);
      if (site) this.states.push({ position: event.position, timeMs: Date.parse(event.time), site });
    }
  }

  /** Nothing of the site precedes its first event. */
  at(position: number): Site {
    return (this.states[Math.max(0, this.indexAfter(position) - 1)] as { site: Site }).site;
  }

  /** Before each change since a time and up to a position. */
  changes(sinceMs: number, until: number): Moment[] {
    const changes: Moment[] = [];
    for (let index = this.indexAfter(until) - 1; index > 0; index -= 1) {
      const { position, timeMs } = this.states[index] as Moment;
      if (timeMs < sinceMs) break;
      changes.push({ position: position - 1, timeMs });
    }
    return changes;
  }

  /** Of the first state after a position. */
  private indexAfter(position: number): number {
    let [low, high] = [0, this.states.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.states[middle] as Moment).position <= position) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface Claim {
  readonly atMs: number;
  readonly weak: boolean;
}

/** Shared by all keys that no earlier conversion is known of. */
const NO_CLAIM: Claim = { atMs: Number.NEGATIVE_INFINITY, weak: true };

/**
 * Decides on each request again, in log order, as the append would have done under the rules. Dedup claims are held in memory
 * for the length of the window: those of the range, and the earlier ones that it repeats.
 */
export class ShadowRulesEngine {
  private readonly claims = new Map<string, Claim>();
  private prunedUpToMs = 0;

  constructor(
    private readonly rules: ShadowRules,
    private readonly timeline: SiteTimeline,
    private readonly dedupSecret: string,
    private readonly defaultWindowMs: number,
  ) {}

  /** The claims in memory. */
  get size(): number {
    return this.claims.size;
  }

  /** Announces a conversion of the position range, whose earlier claim is needed. */
  expect(event: StoredOpening): void {
    const key = this.keyOf(event);
    if (key !== undefined) this.claims.set(key, NO_CLAIM);
  }

  /** Adds the claim of a conversion before the position range, as it was recorded, if a conversion with its key was announced. */
  addEarlierClaim(event: StoredOpening): void {
    const key = this.keyOf(event);
    if (key === undefined || decisionOf(event) === 'deduplicated' || !this.claims.has(key)) return;
    this.claims.set(key, { atMs: Date.parse(event.time), weak: decisionOf(event) === 'filtered' });
  }

  /**
   * `firstWasFiltered`: whether the conversion that a duplicate repeats was filtered. Undefined if the key cannot be computed
   * because the person was erased.
   */
  decide(event: StoredOpening, firstWasFiltered: boolean): Decision | undefined {
    const key = this.keyOf(event);
    if (key === undefined) return undefined;
    const settings = { ...this.timeline.at(event.position).settings, ...this.rules.site };
    const atMs = Date.parse(event.time);
    const weak = this.isFiltered(event, settings, firstWasFiltered);
    const windowMs = this.rules.dedupWindowMs ?? dedupWindowOf(settings, this.defaultWindowMs);
    const held = this.claims.get(key);
    if (held && held.atMs > atMs - windowMs && (weak || !held.weak)) return 'deduplicated';
    this.claims.set(key, { atMs, weak });
    this.pruneClaims(atMs - windowMs);
    return weak ? 'filtered' : 'received';
  }

  private isFiltered(
    { type, data, personal }: StoredOpening,
    settings: SiteSettings,
    firstWasFiltered: boolean,
  ): boolean {
    const { bot, correction } = data;
    if (correction) return false;
    const isBot = bot && bot.score >= (this.rules.botThreshold ?? settings.botThreshold);
    // What was filtered as a bot stays so: versions before 0.3 filtered orders too.
    const filters = filtersBots(settings, data.orderId) || ('reason' in data && data.reason === 'bot');
    if (isBot && filters && settings.botMode === 'enforce') return true;
    if (type === 'conversion.filtered.v1' && 'reason' in data) {
      // The log does not tell whether the other reasons would still apply.
      const subject = personal?.subject;
      const isListed = subject !== undefined && data.reason === 'blocked_address' && this.rules.site?.blocked;
      return isListed ? isListed.includes(subject) : data.reason !== 'bot';
    }
    // A duplicate does not record whether it would have been filtered. A strong claim would have replaced the weak one of the
    // first conversion, so this one was weak too.
    if (type === 'conversion.deduplicated.v1' && firstWasFiltered && !bot) return true;
    return filterReason(settings, personal?.subject, undefined) !== undefined;
  }

  private keyOf({ data: conversion, personal }: StoredOpening): string | undefined {
    const subject = personal ? subjectOfPerson(personal) : undefined;
    if (subject === undefined && conversion.orderId === undefined) return undefined;
    // As bytes: a quarter of the memory of the text, which is part of a longer one.
    return Buffer.from(dedupKey(this.dedupSecret, conversion, subject ?? ''), 'hex').toString('latin1');
  }

  /** Removes expired claims, at most once per hour of log time. */
  private pruneClaims(beforeMs: number): void {
    if (beforeMs < this.prunedUpToMs + 3_600_000) return;
    this.prunedUpToMs = beforeMs;
    for (const [key, { atMs }] of this.claims) if (atMs <= beforeMs) this.claims.delete(key);
  }
}

export function decisionOf({ type }: StoredOpening): Decision {
  return type.split('.')[1] as Decision;
}
