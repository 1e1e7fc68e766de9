import { type Delivery, foldDeliveries } from '../delivery/delivery.js';
import { buildPayload } from '../delivery/payload/payload.js';
import { occurredMsOf, type ReceivedConversion } from '../delivery/received-conversion.js';
import { CONVERSION, type ConversionData, type ConversionPersonal } from '../events/conversion.events.js';
import { type Reopening } from '../events/delivery.events.js';
import { PERSON_BYTES, statedKeys } from '../events/person-keys.js';
import { SITE } from '../events/site.events.js';
import type { Clock } from '../kernel/clock.js';
import { LogUnavailable } from '../kernel/errors.js';
import { Poller } from '../kernel/poller.js';
import type { NewEvent, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Platform, Settings } from '../platforms/platform.js';
import { Lease, type LeaseDatabase } from '../postgres/lease.js';
import type { SiteConnection } from '../sites/connections/connection.js';
import { isClosed, scopeStart } from '../sites/site.js';
import type { LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import { type Matcher, matchOf } from './matcher.js';
import { withSentConsent } from './sent-consent.js';
import { lacksIdentifier } from './unmatched.projection.js';
import { asOfRecord, type VisitorRecord } from './visitor-record.js';

/** Its `reached` is the progress of the scan. */
export const LATE_MATCHES_LEASE = 'late-matches';
const PAGE_EVENTS = 5_000;
/** How often one conversion is decided when its stream, or what is stored about the person, changes each time. */
const DECISIONS_MAX = 50;
/** Events that may add an identifier. */
const TYPES = ['visitor.visited.v1', 'visitor.clicked.v1', 'visitor.identified.v1', 'visitor.consent_changed.v1'];

export interface LateMatchesDependencies {
  platform(connection: SiteConnection | undefined): Platform | undefined;
  /** Position up to which the `unmatched` projection has folded the log. */
  unmatchedPosition(): Promise<number>;
  /** Until when the platform accepts the conversion. */
  sendableUntilMs(received: ReceivedConversion, platform: Platform, settings: Settings): number;
  readonly identifierTtlMs: number;
  readonly clock: Clock;
}

interface Unmatched {
  readonly conversion: string;
  readonly site: string;
  readonly subject: string;
  /** Position of the visitor event that may add the missing identifier. */
  readonly visitPosition: number;
}

/**
 * Matches conversions to visits that are identified after them: reopens deliveries that were skipped because an identifier
 * was missing. One process at a time scans the log, by lease. Each decision is appended at the version of the conversion's
 * stream that it was based on, so no delivery is reopened twice and none that a platform has accepted.
 */
export class LateMatches {
  private readonly poller = new Poller(() => this.scan());
  private lease: Lease | undefined;

  constructor(
    private readonly database: LeaseDatabase,
    private readonly log: EventLog,
    private readonly directory: SiteDirectory,
    private readonly matcher: Matcher,
    private readonly dependencies: LateMatchesDependencies,
  ) {}

  start(everyMs: number): void {
    this.poller.start(everyMs);
  }

  scheduleScan(): void {
    this.poller.poll();
  }

  async stop(): Promise<void> {
    await this.poller.stop();
    await this.lease?.release().catch(() => {});
  }

  private async scan(): Promise<void> {
    if (this.lease?.isLost) this.lease = undefined;
    this.lease ??= await Lease.take(this.database, LATE_MATCHES_LEASE);
    const { lease } = this;
    if (!lease) return;
    const folded = await this.dependencies.unmatchedPosition();
    while (lease.held && lease.reached < folded) {
      const until = Math.min(folded, await this.log.pageEnd(lease.reached, PAGE_EVENTS));
      await this.handle(lease.reached, until);
      lease.reached = until;
    }
  }

  private async handle(after: number, until: number): Promise<void> {
    const found = [
      ...(await this.unmatchedOf(after, until)),
      ...(await this.skippedAfterVisit(after, until)),
      ...(await this.unmatchedOfArrived(after, until)),
    ];
    const distinct = new Map(found.map((unmatched) => [unmatched.conversion, unmatched] as const));
    for (const unmatched of distinct.values()) await this.reopen(unmatched);
  }

  /** Unmatched conversions of people with a visitor event in this position range that is newer than the conversion. */
  private async unmatchedOf(after: number, until: number): Promise<Unmatched[]> {
    const people = await this.log.subjects({ after, until, types: TYPES, bytes: PERSON_BYTES });
    if (people.length === 0) return [];
    const { rows } = await this.database.pool.query<Unmatched>(
      `SELECT u.conversion, u.site, encode(u.subject, 'hex') AS subject, max(p.position)::float8 AS "visitPosition"
         FROM json_to_recordset($1) AS p (site text, subject text, position bigint)
         JOIN cc.unmatched u ON u.site = p.site AND u.subject = decode(p.subject, 'hex') AND u.position < p.position
        GROUP BY u.conversion`,
      [JSON.stringify(people)],
    );
    return rows;
  }

  /** Conversions skipped in this position range after their visit was stored: the scan of the visit did not see them yet. */
  private async skippedAfterVisit(after: number, until: number): Promise<Unmatched[]> {
    const { rows } = await this.database.pool.query<Unmatched>(
      `SELECT u.conversion, u.site, encode(u.subject, 'hex') AS subject, max(i.position)::float8 AS "visitPosition"
         FROM cc.unmatched u
         JOIN cc.identifiers i ON i.site = u.site AND i.subject = u.subject AND i.position > u.position
        WHERE u.skipped > $1 AND u.skipped <= $2 GROUP BY u.conversion`,
      [after, until],
    );
    return rows;
  }

  /** All that are unmatched of sites that arrived in this position range: while their events were copied, nothing was decided. */
  private async unmatchedOfArrived(after: number, until: number): Promise<Unmatched[]> {
    const arrivals = await this.log.read({ after, until, categories: [SITE], types: ['site.moved_in.v1'] });
    const sites = arrivals.map(({ site }) => site);
    if (sites.length === 0) return [];
    // It may not have read the arrival yet.
    await this.directory.refresh();
    const { rows } = await this.database.pool.query<Unmatched>(
      `SELECT u.conversion, u.site, encode(u.subject, 'hex') AS subject, max(i.position)::float8 AS "visitPosition"
         FROM cc.unmatched u
         JOIN cc.identifiers i ON i.site = u.site AND i.subject = u.subject AND i.position > u.position
        WHERE u.site = ANY ($1) GROUP BY u.conversion`,
      [sites],
    );
    return rows;
  }

  private async reopen({ conversion, site, subject, visitPosition }: Unmatched): Promise<void> {
    const open = this.directory.find(site);
    // Another cell acts for a site that has left. One that arrives is looked at when it is open.
    if (!open || isClosed(open.site)) return;
    for (let decisions = 0; decisions < DECISIONS_MAX; decisions += 1) {
      const events = await this.log.readStream(CONVERSION, conversion);
      const others = othersOf(events[0], subject, open);
      const record = await this.matcher.find(open.site, { subject, others });
      // Ends the scan before its position advances, so that the next one decides with the record.
      if (record.consent === 'unreadable') throw new LogUnavailable('The identifier record could not be read');
      const decided = this.decide(events, open, record);
      if (decided.length === 0) return;
      const by = visitPosition;
      const [first, ...following] = decided.map(({ data, ...event }) => ({ ...event, data: { ...data, by } }));
      const outcome = await this.log.append({
        ...{ category: CONVERSION, stream: conversion, site, actor: 'system' },
        expected: events.at(-1)?.version ?? 0,
        events: [first as NewEvent, ...following],
        asOf: asOfRecord(record, others),
      });
      // Otherwise the stream has new events, or the person was erased or has new ones: decide again.
      if (outcome.status === 'appended') return;
    }
    // Ends the scan before its position advances, so that the next one decides again.
    throw new LogUnavailable('What is stored about the person changes again and again');
  }

  /** Without `by`, which all of them have in common. */
  private decide(events: readonly StoredEvent[], open: LoadedSite, record: VisitorRecord) {
    const [opening] = events;
    if (opening?.type !== 'conversion.received.v1' || !opening.personal) return [];
    // An earlier site with the host had it: the visit and the connections are not of its customer.
    if (opening.position <= scopeStart(open.site)) return [];
    const occurredMs = occurredMsOf(opening);
    // A later grant adds nothing to it.
    if (isWithheldForGood(opening.data)) return [];
    // The visit that a conversion has is kept: a visitor that identifies later must not change it.
    if (opening.data.matched || events.some(({ type }) => type === 'conversion.reopened.v1')) return [];
    const { settings } = open.site;
    const found = matchOf(record, settings, occurredMs, this.dependencies.identifierTtlMs, { byMs: occurredMs });
    const match = withSentConsent(found, opening.data.sentConsent);
    if (!match.visit) return [];
    const withVisit: ReceivedConversion = {
      ...opening,
      data: { ...opening.data, consent: match.consent },
      personal: { ...opening.personal, visit: match.visit },
    };
    const reopened = foldDeliveries(events).filter((delivery) => this.canReopen(delivery, withVisit, open));
    return reopened.map(({ platform, attempts }, index) => {
      const data: Omit<Reopening, 'by'> = {
        conversionId: opening.data.conversionId,
        platform,
        attempt: attempts,
        consent: match.consent,
        trial: opening.data.trial,
        ...(index === 0 && { joins: opening.time.slice(0, 10) }),
      };
      const { subject, person } = opening.personal as ConversionPersonal;
      const personal = { ...(subject === undefined ? { person } : { subject }), visit: match.visit };
      return { type: 'conversion.reopened.v1', data, personal };
    });
  }

  /** Whether the delivery was skipped for a missing identifier, can be sent with this visit, and is not too old. */
  private canReopen({ platform: name, last, ...requested }: Delivery, withVisit: ReceivedConversion, open: LoadedSite) {
    const connection = open.connections.get(name)?.connection;
    const platform = this.dependencies.platform(connection);
    if (last?.status !== 'skipped' || !lacksIdentifier(last) || !platform || !connection) return false;
    const { settings } = connection;
    const { clock, sendableUntilMs } = this.dependencies;
    if (clock.nowMs() > sendableUntilMs(withVisit, platform, settings)) return false;
    // What was never sent is sent with the current settings.
    const { withhold } = open.site.settings;
    return !('skip' in buildPayload(withVisit, platform, settings, { ...requested, withhold }));
  }
}

/** A consent that could not be read when the conversion was received is read now. */
function isWithheldForGood({ withheld }: Pick<ConversionData, 'withheld'>): boolean {
  return withheld !== undefined && withheld !== 'consent_unreadable';
}

/** Further subjects of the person, where people are identified by more than an email. */
function othersOf(
  opening: StoredEvent | undefined,
  subject: string,
  { site: { settings } }: LoadedSite,
): readonly string[] | undefined {
  if (opening?.type !== 'conversion.received.v1' || !opening.personal) return undefined;
  if (settings.identifyBy === 'email' && !opening.personal.person) return undefined;
  const others = statedKeys(opening.personal).filter((key) => key !== subject);
  return others.length > 0 ? others : undefined;
}
