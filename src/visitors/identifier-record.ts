import {
  type BotVerdict,
  type ConsentState,
  type Touch,
  type VisitData,
  type VisitorEvent,
  type VisitPersonal,
} from '../events/visitor.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Click, ClickKind, Visit } from '../platforms/conversion.js';
import { clickLifetimeMs, PLATFORM_CLICK_KINDS } from './identifier-kinds.js';
import { isPerson } from './visitor.js';

/** One row of a person's identifier record. Without `at` the time of the event applies. */
export interface Identifier {
  readonly kind: string;
  readonly at?: number;
  readonly value: unknown;
}

/** The part of an event that the inline projections store. */
export interface Inline {
  readonly identifiers: readonly Identifier[];
  readonly consent?: ConsentState | undefined;
}

/** Deterministic: the append passes the result on to the inline projections, and a rebuild derives the same from the log. */
export function inlineOf(event: VisitorEvent | StoredEvent): Inline | undefined {
  if (!('personal' in event) || !isPerson(event.personal?.subject)) return undefined;
  switch (event.type) {
    case 'visitor.visited.v1':
    case 'visitor.identified.v1':
      return event.personal && { identifiers: identifiersOf(event.data, event.personal), consent: event.data.consent };
    case 'visitor.rejudged.v1':
      // As of the visit itself, so that a new verdict on an earlier visit does not override a later visit.
      return { identifiers: [{ kind: 'bot', at: Date.parse(event.data.seenAt), value: event.data.bot }] };
    case 'visitor.consent_changed.v1':
      return { identifiers: [], consent: event.data.consent };
    default:
      return undefined;
  }
}

function identifiersOf({ bot }: VisitData, personal: VisitPersonal): Identifier[] {
  const { visitor, page, referrer, clicks, first, utm, cookies, signals } = personal;
  const { ip, userAgent } = signals;
  const found: Identifier[] = [
    { kind: 'visit', value: { visitorId: visitor, pageUrl: page, referrer, ip, userAgent, cookies } },
    { kind: 'bot', value: bot },
  ];
  for (const [kind, click] of Object.entries(clicks))
    if (click) found.push({ kind, at: click.timeMs, value: { id: click.id, page: click.page } });
  if (first) found.push({ kind: 'first', at: first.timeMs, value: first });
  if (Object.keys(utm).length > 0) found.push({ kind: 'last', value: { page, referrer, utm } });
  return found;
}

/** Rows of one person by kind. */
export type StoredIdentifiers = Readonly<Record<string, readonly [atMs: number, value: unknown]>>;

export interface IdentifierRecord {
  readonly visit: Visit | undefined;
  readonly bot: BotVerdict | undefined;
}

/** The identifier record as of a moment: without expired identifiers and without clicks that happened later. */
export function recordOf(stored: StoredIdentifiers, asOfMs: number, ttlMs: number): IdentifierRecord {
  const unexpired = (kind: string, lifetimeMs = ttlMs) => {
    const [atMs, value] = stored[kind] ?? [Number.NEGATIVE_INFINITY];
    return atMs > asOfMs - lifetimeMs ? value : undefined;
  };
  const bot = unexpired('bot') as BotVerdict | undefined;
  const visit = unexpired('visit') as Omit<Visit, 'clicks' | 'utm'> | undefined;
  if (!visit) return { visit: undefined, bot };
  const clicks: Partial<Record<ClickKind, Click>> = {};
  for (const kind of PLATFORM_CLICK_KINDS) {
    const click = unexpired(kind, clickLifetimeMs(kind, ttlMs)) as { id: string } | undefined;
    const timeMs = stored[kind]?.[0] as number;
    if (click && timeMs <= asOfMs) clicks[kind] = { id: click.id, timeMs };
  }
  const { utm } = (unexpired('last') ?? unexpired('first') ?? { utm: {} }) as Pick<Touch, 'utm'>;
  return { visit: { ...visit, clicks, utm }, bot };
}
