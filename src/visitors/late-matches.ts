import type { Pool } from 'pg';
import { settingsAsOf } from '../delivery/courier.js';
import { type Delivery, foldDeliveries } from '../delivery/delivery.js';
import { type ReceivedConversion, spell } from '../delivery/received.js';
import { CONVERSION } from '../events/conversion.events.js';
import { type Reopening } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { NewEvent, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Platform } from '../platforms/platform.js';
import { Lease } from '../postgres/lease.js';
import type { LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import { CLICK_KINDS } from './identifier-kinds.js';
import { isFilteredBot, type Known, type Matcher, matchOf } from './matcher.js';
import { isWanting } from './unmatched.projection.js';
import { PERSON_BYTES } from './visitor.js';

const LEASE = 'late-matches';
const LOOK_EVERY_MS = 1_000;
const PAGE_EVENTS = 5_000;
/** What may bring an identifier. */
const TYPES = ['visitor.visited.v1', 'visitor.identified.v1', 'visitor.consent_changed.v1'];

/** The others are of the moment they were told at. */
const TELLS_WHEN: ReadonlySet<string> = new Set(['first', ...CLICK_KINDS]);

export interface LateMatchesWorld {
  platform(name: string): Platform | undefined;
  /** Brings the list of unmatched conversions up to the log. */
  foldUnmatched(): Promise<void>;
  /** How long the platform takes conversions after they happened. */
  sendableForMs(platform: Platform): number;
  readonly keptMs: number;
}

interface Unmatched {
  readonly conversion: string;
  readonly site: string;
  readonly subject: string;
  /** Of the event that may bring what was missing. */
  readonly by: number;
}

/**
 * A visit that is identified after its conversion: deliveries that were skipped for want of an identifier are opened
 * again, with the visit in the log. One process at a time goes along the log; what it decides on is the conversion's
 * stream at a version, so nobody opens anything twice, and what a platform took stays closed.
 */
export class LateMatches {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;
  private lease: Lease | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly directory: SiteDirectory,
    private readonly matcher: Matcher,
    private readonly world: LateMatchesWorld,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.lookQuietly(), LOOK_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
    await this.lease?.release().catch(() => {});
  }

  private lookQuietly(): void {
    this.looking ??= this.look()
      // The database is away: the next look finds what this one could not.
      .catch(() => {})
      .finally(() => {
        this.looking = undefined;
      });
  }

  private async look(): Promise<void> {
    if (this.lease?.isLost) this.lease = undefined;
    this.lease ??= await Lease.take(this.pool, LEASE);
    const { lease } = this;
    if (!lease) return;
    const head = await this.log.head();
    while (lease.held && lease.reached < head) {
      const until = Math.min(head, await this.log.pageEnd(lease.reached, PAGE_EVENTS));
      await this.handle(lease.reached, until);
      lease.reached = until;
    }
  }

  private async handle(after: number, until: number): Promise<void> {
    await this.world.foldUnmatched();
    const found = [...(await this.unmatchedOf(after, until)), ...(await this.overtaken(after, until))];
    for (const one of new Map(found.map((one) => [one.conversion, one] as const)).values()) await this.reopen(one);
  }

  /** Conversions of those people who have shown something in this stretch, from before that. */
  private async unmatchedOf(after: number, until: number): Promise<Unmatched[]> {
    const people = await this.log.subjects({ after, until, types: TYPES, bytes: PERSON_BYTES });
    if (people.length === 0) return [];
    const { rows } = await this.pool.query<Unmatched>(
      `SELECT u.conversion, u.site, encode(u.subject, 'hex') AS subject, max(p.position)::float8 AS by
         FROM json_to_recordset($1) AS p (site text, subject text, position bigint)
         JOIN cc.unmatched u ON u.site = p.site AND u.subject = decode(p.subject, 'hex') AND u.position < p.position
        GROUP BY u.conversion`,
      [JSON.stringify(people)],
    );
    return rows;
  }

  /** Conversions skipped in this stretch whose person showed something just before: that came first, and found nobody. */
  private async overtaken(after: number, until: number): Promise<Unmatched[]> {
    const { rows } = await this.pool.query<Unmatched>(
      `SELECT u.conversion, u.site, encode(u.subject, 'hex') AS subject, max(i.position)::float8 AS by
         FROM cc.unmatched u
         JOIN cc.identifiers i ON i.site = u.site AND i.subject = u.subject AND i.position > u.position
        WHERE u.skipped > $1 AND u.skipped <= $2 GROUP BY u.conversion`,
      [after, until],
    );
    return rows;
  }

  private async reopen({ conversion, site, subject, by }: Unmatched): Promise<void> {
    const open = this.directory.find(site);
    if (!open) return;
    const known = await this.matcher.find(site, subject);
    // Not decided on what could not be read: the next look asks again.
    if (known.consent === 'unreadable') throw new LogUnavailable('What is known of a visitor could not be read');
    for (;;) {
      const events = await this.log.readStream(CONVERSION, conversion);
      const reopenings = this.decide(events, open, known, by);
      const [first, ...others] = reopenings;
      if (!first) return;
      const outcome = await this.log.append({
        ...{ category: CONVERSION, stream: conversion, site, actor: 'system' },
        expected: events.length,
        events: [first, ...others],
      });
      // Otherwise something has become of it meanwhile: look again.
      if (outcome.status === 'appended') return;
    }
  }

  private decide(events: readonly StoredEvent[], open: LoadedSite, known: Known, by: number): NewEvent[] {
    const [opening] = events;
    if (opening?.type !== 'conversion.received.v1' || !opening.personal) return [];
    const receivedMs = Date.parse(opening.time);
    const match = matchOf(known, open.site.settings, receivedMs, this.world.keptMs);
    if (!match.visit || !wasThereBefore(known, receivedMs) || isFilteredBot(match.bot, open.site.settings)) return [];
    const completed: ReceivedConversion = {
      ...opening,
      data: { ...opening.data, consent: match.consent },
      personal: { ...opening.personal, visit: match.visit },
    };
    const wanted = foldDeliveries(events).filter((delivery) => this.isMended(delivery, completed, open));
    const isJoined = opening.data.matched || events.some(({ type }) => type === 'conversion.reopened.v1');
    return wanted.map(({ platform, attempts }, index) => {
      const data: Reopening = {
        conversionId: opening.data.conversionId,
        platform,
        attempt: attempts,
        by,
        consent: match.consent,
        trial: opening.data.trial,
        ...(!isJoined && index === 0 && { joins: opening.time.slice(0, 10) }),
      };
      const personal = { subject: opening.personal?.subject as string, visit: match.visit };
      return { type: 'conversion.reopened.v1', data, personal };
    });
  }

  /** Skipped for want of an identifier, still in time, and not any more with this visit. */
  private isMended(
    { platform: name, last, settings, eventId }: Delivery,
    completed: ReceivedConversion,
    open: LoadedSite,
  ) {
    const platform = this.world.platform(name);
    const connection = open.connections.get(name)?.connection;
    if (last?.status !== 'skipped' || !isWanting(last) || !platform || !connection) return false;
    if (Date.now() - Date.parse(completed.time) > this.world.sendableForMs(platform)) return false;
    const asOf = settingsAsOf(connection, settings ?? completed.data.settings);
    return !('skip' in spell(completed, platform, asOf, eventId));
  }
}

/** A visit that began after the conversion did not bring it. */
function wasThereBefore({ identifiers }: Known, receivedMs: number): boolean {
  return Object.entries(identifiers).some(([kind, [atMs]]) => TELLS_WHEN.has(kind) && atMs <= receivedMs);
}
