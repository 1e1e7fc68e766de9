import type { StoredOpening } from '../../conversions/conversion.js';
import { dedupKey, dedupWindowOf } from '../../conversions/dedup-key.js';
import { filterReason } from '../../conversions/filter.js';
import type { StoredEvent } from '../../log/event.js';
import type { PlatformName } from '../../platforms/platform.js';
import { evolve, type Site } from '../../sites/site.js';

/** What is to be different. What is not said stays as it was at the time. */
export interface ShadowRules {
  readonly dedupWindowMs?: number | undefined;
  readonly botThreshold?: number | undefined;
  /** By platform and name; an empty value takes a setting away. */
  readonly settings: Readonly<Partial<Record<PlatformName, Readonly<Record<string, string>>>>>;
}

export type Opening = 'received' | 'deduplicated' | 'filtered';

/** A site as it was, position by position: asked in the order of the log. */
export class SiteTimeline {
  private readonly states: { readonly position: number; readonly site: Site }[] = [];
  private at = 0;

  constructor(events: readonly StoredEvent[]) {
    let site: Site | undefined;
    for (const event of events) {
      site = evolve(site, event);
      if (site) this.states.push({ position: event.position, site });
    }
  }

  /** Of a position that is not before the last one asked for. */
  as(position: number): Site {
    while ((this.states[this.at + 1]?.position ?? Number.POSITIVE_INFINITY) <= position) this.at += 1;
    return (this.states[this.at] as { site: Site }).site;
  }
}

/**
 * Decides once more what became of each request, in the order they came, as the append would have: who holds which
 * duplicate key is kept in memory as far back as the window reaches.
 */
export class ShadowDesk {
  private readonly claims = new Map<string, { readonly atMs: number; readonly weak: boolean }>();
  private forgottenUpToMs = 0;

  constructor(
    private readonly rules: ShadowRules,
    private readonly timeline: SiteTimeline,
    private readonly dedupSecret: string,
    private readonly defaultWindowMs: number,
  ) {}

  /** One that came before the stretch: it holds its key as it really did. */
  remember(event: StoredOpening): void {
    const key = this.keyOf(event);
    if (key === undefined || openingOf(event) === 'deduplicated') return;
    this.claims.set(key, { atMs: Date.parse(event.time), weak: openingOf(event) === 'filtered' });
  }

  /** `firstWasFiltered`: of a duplicate, what it repeats. Undefined when the person was erased and nobody can tell any more. */
  decide(event: StoredOpening, firstWasFiltered: boolean): Opening | undefined {
    const key = this.keyOf(event);
    if (key === undefined) return undefined;
    const site = this.timeline.as(event.position);
    const atMs = Date.parse(event.time);
    const weak = this.isFiltered(event, site, firstWasFiltered);
    const windowMs = this.rules.dedupWindowMs ?? dedupWindowOf(site.settings, this.defaultWindowMs);
    const held = this.claims.get(key);
    if (held && held.atMs > atMs - windowMs && (weak || !held.weak)) return 'deduplicated';
    this.claims.set(key, { atMs, weak });
    this.forget(atMs - windowMs);
    return weak ? 'filtered' : 'received';
  }

  private isFiltered({ type, data, personal }: StoredOpening, { settings }: Site, firstWasFiltered: boolean): boolean {
    const { bot } = data;
    if (bot && settings.botMode === 'enforce' && bot.score >= (this.rules.botThreshold ?? settings.botThreshold))
      return true;
    if (type === 'conversion.filtered.v1') return 'reason' in data && data.reason !== 'bot';
    // A repeat says nothing of that itself. Had it not been unwanted too, it would have taken the key over.
    if (type === 'conversion.deduplicated.v1' && firstWasFiltered && !bot) return true;
    return filterReason(settings, personal?.subject ?? '', undefined) !== undefined;
  }

  private keyOf({ data: conversion, personal }: StoredOpening): string | undefined {
    const subject = personal?.subject;
    if (subject === undefined && conversion.orderId === undefined) return undefined;
    return dedupKey(this.dedupSecret, conversion, subject ?? '');
  }

  /** Now and then: what no window reaches back to any more. */
  private forget(beforeMs: number): void {
    if (beforeMs < this.forgottenUpToMs + 3_600_000) return;
    this.forgottenUpToMs = beforeMs;
    for (const [key, { atMs }] of this.claims) if (atMs <= beforeMs) this.claims.delete(key);
  }
}

export function openingOf({ type }: StoredOpening): Opening {
  return type.split('.')[1] as Opening;
}
