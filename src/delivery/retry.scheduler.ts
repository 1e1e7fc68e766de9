import { Injectable } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { CONVERSION } from '../events/conversion.events.js';
import type { Outcome } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import type { Lease } from '../postgres/lease.js';
import { Postgres } from '../postgres/postgres.js';
import { Confirmations } from './confirmations.js';
import { CrashRecovery } from './crash-recovery.js';
import { unknownSinceOf, type WaitingDelivery } from './deliveries.projection.js';
import { foldDeliveries, outcomeType } from './delivery.js';
import { PlatformDelivery } from './platform-delivery.js';
import { type ReceivedConversion, withReopenedVisit } from './received-conversion.js';

const POLL_EVERY_MS = 500;
/** Deliveries of one connection that one poll leases at most; the next poll leases more. */
const LEASED_MAX = 1_000;
/** How often one delivery is attempted on a parked connection, to find out whether it works again. */
const PROBE_EVERY_MS = 15 * 60_000;
const APPEND_RETRY_MS = 1_000;
const STOP_WITHIN_MS = 3_000;

interface ConnectionKey {
  readonly site: string;
  readonly platform: PlatformName;
}

/** A leased delivery. */
export type DueDelivery = Omit<WaitingDelivery, 'platform' | 'due' | 'giveUpAt'> & ConnectionKey;

/**
 * Carries out deliveries that are due: next attempts and status requests. Every instance polls; a delivery belongs to the
 * one that holds its delivery lease. That lease is valid until the instance lease of its holder ends, either on stop or
 * after another instance has recovered it. A poll leases only as many deliveries as the connection's queue can accept.
 */
@Injectable()
export class RetryScheduler {
  private polling: Promise<void> | undefined;
  /** Positions leased by this process: in flight, or recorded and not yet folded by the projection. */
  private readonly leased = new Set<number>();
  private inFlight = 0;
  private stopping = false;
  /** When a parked connection was first seen, or last probed. */
  private readonly probed = new Map<string, number>();

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly deliveries: PlatformDelivery,
    private readonly confirmations: Confirmations,
    private readonly recovery: CrashRecovery,
  ) {}

  @Interval(POLL_EVERY_MS)
  poll(): void {
    if (this.stopping) return;
    this.polling ??= this.leaseAll()
      // The database is unavailable: the next poll repeats the work.
      .catch(() => {})
      .finally(() => {
        this.polling = undefined;
      });
  }

  /** Waits a moment for the deliveries in flight: the instance that leases them next would repeat the attempts. */
  async stop(): Promise<void> {
    this.stopping = true;
    await this.polling;
    const deadline = performance.now() + STOP_WITHIN_MS;
    while (this.inFlight > 0 && performance.now() < deadline) await new Promise((next) => setTimeout(next, 20));
  }

  /** Repeats without delay while deliveries are due, so that a backlog does not wait for the next interval. */
  private async leaseAll(): Promise<void> {
    while ((await this.leaseOnce()) > 0 && !this.stopping) await new Promise((next) => setImmediate(next));
  }

  /** Returns how many deliveries were leased. */
  private async leaseOnce(): Promise<number> {
    const { lease } = this.recovery;
    if (!lease?.held) return 0;
    let leased = 0;
    for (const connection of await this.dueConnections()) {
      const capacity = Math.min(this.capacity(connection), LEASED_MAX);
      if (capacity <= 0) continue;
      const due = await this.leaseDue(connection, capacity, lease);
      if (due.length > 0) await this.start(due, lease);
      leased += due.length;
    }
    await this.deleteSettledLeases(lease);
    return leased;
  }

  /** Connections with a due delivery. Skips along the index, so the cost does not depend on how many deliveries wait. */
  private async dueConnections(): Promise<ConnectionKey[]> {
    const { rows } = await this.postgres.pool.query<ConnectionKey>({
      name: 'due-connections',
      text: `WITH RECURSIVE connections AS (
          (SELECT site, platform FROM cc.deliveries ORDER BY site, platform LIMIT 1)
          UNION ALL
          SELECT n.site, n.platform FROM connections c CROSS JOIN LATERAL (
            SELECT site, platform FROM cc.deliveries d WHERE (d.site, d.platform) > (c.site, c.platform)
             ORDER BY site, platform LIMIT 1) n)
        SELECT site, platform FROM connections c
         WHERE EXISTS (SELECT FROM cc.deliveries d WHERE d.site = c.site AND d.platform = c.platform AND d.due <= now())`,
    });
    return rows;
  }

  private capacity({ site, platform }: ConnectionKey): number {
    const key = `${site} ${platform}`;
    if (!this.deliveries.isParked(site, platform)) {
      this.probed.delete(key);
      return this.deliveries.capacity(site, platform);
    }
    const now = performance.now();
    const since = this.probed.get(key);
    if (since !== undefined && now - since < PROBE_EVERY_MS) return 0;
    this.probed.set(key, now);
    return since === undefined ? 0 : 1;
  }

  /** Also leases again what this process holds but did not start: the response to that lease query was lost. */
  private async leaseDue({ site, platform }: ConnectionKey, capacity: number, lease: Lease): Promise<DueDelivery[]> {
    const { rows } = await this.postgres.pool.query<DueDelivery>({
      name: 'lease-deliveries',
      text: `WITH leased AS (
          INSERT INTO cc.delivery_leases AS c (position, holder)
          SELECT d.position, $3 FROM cc.deliveries d
           WHERE d.site = $1 AND d.platform = $2 AND d.due <= now() AND d.position <> ALL ($5) AND (d.kind = 'send' OR NOT $6)
             AND NOT EXISTS (SELECT FROM cc.delivery_leases t JOIN cc.leases l ON l.name = t.holder
                              WHERE t.position = d.position AND t.holder <> $3)
           ORDER BY d.due LIMIT $4
          ON CONFLICT (position) DO UPDATE SET holder = excluded.holder
            WHERE c.holder = $3 OR NOT EXISTS (SELECT FROM cc.leases l WHERE l.name = c.holder)
          RETURNING position)
        SELECT d.conversion, d.platform, d.site, d.position::float8 AS position, d.kind, d.attempt, d.reason, d.details
          FROM cc.deliveries d JOIN leased t ON t.position = d.position ORDER BY d.due`,
      // A status request does not prove that a parked connection works again, so it is no probe.
      values: [site, platform, lease.name, capacity, [...this.leased], this.deliveries.isParked(site, platform)],
    });
    return rows;
  }

  private async start(all: readonly DueDelivery[], lease: Lease): Promise<void> {
    const received = await this.readReceived(all);
    const reopened = await this.readReopened(all, received);
    for (const due of all) {
      this.leased.add(due.position);
      this.inFlight += 1;
      this.startOne(due, reopened.get(due) ?? received.get(due.conversion), lease, (outcome) => {
        void this.record(due, outcome, lease).finally(() => {
          this.inFlight -= 1;
        });
      });
    }
  }

  private startOne(
    due: DueDelivery,
    received: ReceivedConversion | undefined,
    lease: Lease,
    done: (outcome: Outcome | undefined) => void,
  ): void {
    const { site, platform, conversion: conversionId } = due;
    // Never 1: sagas make the first attempts, and the projection does not read how those end.
    const attempt = Math.max(due.attempt, 1) + 1;
    if (!received) done({ conversionId, platform, attempt, status: 'failed', reason: 'no_longer_in_the_log' });
    else if (due.kind === 'confirm') this.confirmations.confirm({ due, received, attempt }, done);
    else {
      const { bodySha256, eventId, settings: settingsPosition, reopened, alone = false } = due.details;
      const probe = this.deliveries.isParked(site, platform);
      const mayDeliver = () => lease.held;
      const unknownSince = unknownSinceOf(due, received.time);
      const request = { received, platform, attempt, bodySha256, eventId, settingsPosition, reopened, unknownSince };
      this.deliveries.deliver({ ...request, alone, probe, mayDeliver }, done);
    }
  }

  private async readReceived(all: readonly DueDelivery[]): Promise<Map<string, ReceivedConversion>> {
    const openings = await this.log.readOpenings(CONVERSION, [...new Set(all.map(({ conversion }) => conversion))]);
    const received = openings.filter((event) => event.type === 'conversion.received.v1');
    return new Map(received.map((event) => [event.data.conversionId, event]));
  }

  /** Conversions whose visit was added later. They are few, so each stream is read on its own. */
  private async readReopened(all: readonly DueDelivery[], received: ReadonlyMap<string, ReceivedConversion>) {
    const reopened = new Map<DueDelivery, ReceivedConversion>();
    for (const due of all) {
      const conversion = received.get(due.conversion);
      const version = due.details.reopened;
      if (version === undefined || !conversion) continue;
      const events = await this.log.readStream(CONVERSION, due.conversion);
      reopened.set(due, withReopenedVisit(conversion, events, version));
    }
    return reopened;
  }

  /**
   * Retries until the outcome is recorded. If this process ends before, its delivery lease ends with it and another
   * instance repeats the attempt. The outcome of that instance is then final, so nothing is recorded without the lease.
   */
  private async record(due: DueDelivery, outcome: Outcome | undefined, lease: Lease): Promise<void> {
    let isInDoubt = false;
    while (outcome && !lease.isLost) {
      if (lease.held) {
        try {
          if (!isInDoubt || !(await this.isRecorded(outcome))) await this.append(due, outcome);
          return;
        } catch (error) {
          // The log refused it for good: keep the delivery lease, so that the attempt is not repeated forever.
          if (!(error instanceof LogUnavailable)) return;
          isInDoubt = true;
        }
      }
      await new Promise((next) => setTimeout(next, APPEND_RETRY_MS));
    }
    this.leased.delete(due.position);
  }

  private async append({ conversion, site }: DueDelivery, outcome: Outcome): Promise<void> {
    await this.log.append({
      category: CONVERSION,
      stream: conversion,
      expected: 'any',
      site,
      actor: 'system',
      events: [{ type: outcomeType(outcome.status), data: outcome }],
    });
  }

  private async isRecorded({ conversionId, platform, attempt }: Outcome): Promise<boolean> {
    const deliveries = foldDeliveries(await withLogTimeout(this.log.readStream(CONVERSION, conversionId)));
    return deliveries.some((delivery) => delivery.platform === platform && delivery.attempts >= attempt);
  }

  /** Deletes the delivery leases whose outcome the projection has folded: their row is gone or has another position. */
  private async deleteSettledLeases(lease: Lease): Promise<void> {
    const { rows } = await this.postgres.pool.query<{ position: number }>(
      `DELETE FROM cc.delivery_leases c
        WHERE NOT EXISTS (SELECT FROM cc.deliveries d WHERE d.position = c.position)
          AND (c.holder = $1 OR NOT EXISTS (SELECT FROM cc.leases l WHERE l.name = c.holder))
        RETURNING c.position::float8 AS position`,
      [lease.name],
    );
    for (const { position } of rows) this.leased.delete(position);
  }
}
