import type { BotVerdict, Touch } from '../events/visitor.events.js';
import { clickLifetimeMs, PLATFORM_CLICK_KINDS } from '../platforms/click-ids.js';
import type { Click, Visit } from '../platforms/conversion.js';
import type { ClickKind } from '../platforms/manifests.js';
import type { StoredVisit } from './identifier-record.js';

/** A row of `cc.identifiers`; `landedMs` is null where the service did not see the landing before the call. */
export type StoredIdentifier = readonly [
  visitor: string,
  kind: string,
  atMs: number,
  landedMs: number | null,
  position: number,
  value: unknown,
];

interface Contribution {
  readonly atMs: number;
  readonly landedMs: number | null;
  readonly position: number;
  readonly value: unknown;
}

/** One of a person's visitors, with what it contributed. */
export interface PersonVisitor {
  /** In hex; empty for what version 0.2 and earlier stored. */
  readonly id: string;
  /** By kind, without expired ones. */
  readonly contributions: ReadonlyMap<string, Contribution>;
  readonly visit: StoredVisit | undefined;
  readonly bot: BotVerdict | undefined;
}

/** Only what the service had seen by a moment, in its own time: what was made up afterwards must not be used. */
export interface Seen {
  readonly byMs: number;
  /** Also without a landing that the service saw: such a contribution counts by the time of its call. */
  readonly withoutLanding?: true;
}

/** The visitors of a person as of a moment: without expired contributions and without clicks that happened later. */
export function visitorsOf(
  stored: readonly StoredIdentifier[],
  asOfMs: number,
  ttlMs: number,
  seen?: Seen,
): PersonVisitor[] {
  const visitors = new Map<string, Map<string, Contribution>>();
  for (const [id, kind, atMs, landedMs, position, value] of stored) {
    if (atMs <= asOfMs - lifetimeMs(kind, ttlMs)) continue;
    if (isClick(kind) && atMs > asOfMs) continue;
    if (seen && kind !== 'bot' && !wasSeen(seen, atMs, landedMs)) continue;
    const contributions = visitors.get(id) ?? new Map<string, Contribution>();
    visitors.set(id, contributions.set(kind, { atMs, landedMs, position, value }));
  }
  return [...visitors].map(([id, contributions]) => ({
    id,
    contributions,
    visit: contributions.get('visit')?.value as StoredVisit | undefined,
    bot: contributions.get('bot')?.value as BotVerdict | undefined,
  }));
}

function wasSeen({ byMs, withoutLanding }: Seen, atMs: number, landedMs: number | null): boolean {
  if (landedMs === null) return withoutLanding === true && atMs <= byMs;
  return landedMs <= byMs;
}

/** What some visitors of a person contributed together; undefined if none of them has a visit. */
export function unionOf(visitors: readonly PersonVisitor[]): Visit | undefined {
  const present = visitors.filter(({ visit }) => visit !== undefined);
  const visit = best(present, 'visit')?.value as StoredVisit | undefined;
  if (!visit) return undefined;
  const clicks: Partial<Record<ClickKind, Click>> = {};
  for (const kind of PLATFORM_CLICK_KINDS) {
    const click = best(present, kind);
    if (click) clicks[kind] = { id: (click.value as { id: string }).id, timeMs: click.atMs };
  }
  const campaign = best(present, 'last') ?? best(present, 'first');
  const { speaker: _, granted: __, ...shown } = visit;
  return { ...shown, clicks, utm: ((campaign?.value ?? { utm: {} }) as Pick<Touch, 'utm'>).utm };
}

/** The contribution of this kind that counts for the person. */
export function best(visitors: readonly PersonVisitor[], kind: string): Contribution | undefined {
  let found: Contribution | undefined;
  for (const { contributions } of visitors) {
    const candidate = contributions.get(kind);
    if (candidate && (!found || outranks(candidate, found, kind))) found = candidate;
  }
  return found;
}

/**
 * The newest one by the service's own time. A contribution whose landing the service did not see ranks last and replaces none:
 * any caller can make one about any person.
 */
function outranks(one: Contribution, other: Contribution, kind: string): boolean {
  if (one.landedMs === null || other.landedMs === null) {
    if (one.landedMs !== other.landedMs) return one.landedMs !== null;
    return one.position < other.position;
  }
  // The time of a visit and of its campaign is that of the event; `landed` is when the visitor was first seen.
  const timeOf = ({ atMs, landedMs }: Contribution) =>
    kind === 'visit' || kind === 'last' ? atMs : (landedMs as number);
  return timeOf(one) - timeOf(other) > 0 || (timeOf(one) === timeOf(other) && one.position > other.position);
}

function isClick(kind: string): kind is ClickKind {
  return (PLATFORM_CLICK_KINDS as readonly string[]).includes(kind);
}

function lifetimeMs(kind: string, ttlMs: number): number {
  return isClick(kind) ? clickLifetimeMs(kind, ttlMs) : ttlMs;
}
