import { isPerson, subjectOfPerson } from '../events/person-keys.js';
import {
  type BotVerdict,
  type ConsentState,
  VISITOR,
  type VisitData,
  type VisitorEvent,
  type VisitPersonal,
} from '../events/visitor.events.js';
import { derivedUuid, uuidv7 } from '../kernel/uuid.js';
import type { AppendRequest, DedupClaim, StoredEvent } from '../log/event.js';
import { meaningOf, OPERATOR, UNDECIDED, UNRECOGNISED } from './consent.js';
import { type NewVisitorEvent, visitorSubject } from './visitor.js';

/** One row of what a visitor contributed to a person's record. Without `at` the time of the event applies. */
export interface Identifier {
  readonly kind: string;
  readonly at?: number;
  /** When the service received the landing of a click, or first saw the visitor. */
  readonly landed?: number | undefined;
  readonly value: unknown;
}

/** The part of an event that the inline projections store. */
export interface Inline {
  /** In hex. Absent in events of version 0.2 and earlier: their visitors count as one. */
  readonly visitor?: string | undefined;
  readonly identifiers: readonly Identifier[];
  readonly speaker?: string | undefined;
  readonly consent?: ConsentState | undefined;
}

/** A new stream with one event, which carries its part for the inline projections. */
export function newVisitorStream(
  actor: string,
  site: string,
  event: NewVisitorEvent,
  claim?: DedupClaim,
): AppendRequest {
  return {
    category: VISITOR,
    stream: uuidv7(),
    expected: 'new',
    site,
    actor,
    events: [{ ...event, inline: inlineOf(event) }],
    claim,
  };
}

/** Key of the dedup claim that limits `visitor.bot_detected.v1` to one per visit. */
export function botClaimKey(visit: string): string {
  return derivedUuid(`bot ${visit}`);
}

/** Deterministic: the append passes the result on to the inline projections, and a rebuild derives the same from the log. */
export function inlineOf(event: VisitorEvent | StoredEvent): Inline | undefined {
  if (!('personal' in event) || !event.personal || !isPerson(subjectOfPerson(event.personal))) return undefined;
  switch (event.type) {
    case 'visitor.visited.v1':
    case 'visitor.clicked.v1':
    case 'visitor.identified.v1':
      return event.personal && visitInline(event.data, event.personal);
    case 'visitor.rejudged.v1': {
      const { visitor } = event.personal ?? {};
      // As of the visit itself, so that a new verdict on an earlier visit does not override a later visit.
      const bot = { kind: 'bot', at: Date.parse(event.data.seenAt), value: event.data.bot };
      return { visitor: visitor && visitorSubject(visitor), identifiers: [bot] };
    }
    case 'visitor.consent_changed.v1':
      return { identifiers: [], ...statementOf(event.data, event.personal?.speaker) };
    default:
      return undefined;
  }
}

/** A grant by a visitor that cannot be recognised again is no statement: no later call could take it back. */
function statementOf(
  { consent, operator }: { readonly consent: ConsentState; readonly operator?: true },
  speaker: string | undefined,
): Pick<Inline, 'speaker' | 'consent'> {
  if (operator) return { speaker: OPERATOR, consent };
  if (speaker !== 'unrecognised') return { speaker, consent };
  const meaning = meaningOf(consent);
  if (meaning === 'undecided') return { speaker: UNDECIDED, consent };
  return meaning === 'denied' ? { speaker: UNRECOGNISED, consent } : {};
}

function visitInline({ bot, consent }: VisitData, personal: VisitPersonal): Inline {
  const { visitor = '', known, speaker } = personal;
  if (known === undefined) return { identifiers: identifiersOf(bot, personal, {}), consent };
  const granted = meaningOf(consent) === 'granted' ? true : undefined;
  return {
    visitor: visitorSubject(visitor),
    identifiers: identifiersOf(bot, personal, { speaker, granted }),
    ...(speaker !== undefined && { speaker, consent }),
  };
}

function identifiersOf(bot: BotVerdict, personal: VisitPersonal, own: OwnConsent): Identifier[] {
  const { visitor, browser, sinceMs, page, referrer, clicks, first, utm, cookies, signals } = personal;
  const { ip, userAgent } = signals;
  const visit: StoredVisit = {
    visitorId: browser ?? visitor,
    pageUrl: page,
    ...{ referrer, ip, userAgent, cookies, ...own },
  };
  const found: Identifier[] = [
    { kind: 'visit', landed: sinceMs, value: visit },
    { kind: 'bot', value: bot },
  ];
  for (const [kind, click] of Object.entries(clicks))
    if (click)
      found.push({ kind, at: click.timeMs, landed: click.landedMs, value: { id: click.id, page: click.page } });
  if (first) found.push({ kind: 'first', at: first.timeMs, landed: sinceMs, value: first });
  if (Object.keys(utm).length > 0) found.push({ kind: 'last', landed: sinceMs, value: { page, referrer, utm } });
  return found;
}

/** What the visitor itself said about consent. */
export interface OwnConsent {
  /** Whose statement in `cc.consent` is the visitor's. */
  readonly speaker?: string | undefined;
  /** Granted with the visit. */
  readonly granted?: true | undefined;
}

/** Value of a row of kind `visit`. */
export interface StoredVisit extends OwnConsent {
  readonly visitorId?: string | undefined;
  readonly pageUrl?: string | undefined;
  readonly referrer?: string | undefined;
  readonly ip?: string | undefined;
  readonly userAgent?: string | undefined;
  readonly cookies: Readonly<Record<string, string>>;
}
