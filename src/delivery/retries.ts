import type { Pool } from 'pg';
import { CONVERSION } from '../events/conversion.events.js';
import { type Outcome } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import type { Lease } from '../postgres/lease.js';
import type { Confirmations } from './confirmations.js';
import type { Courier } from './courier.js';
import type { WaitingDelivery } from './deliveries.projection.js';
import { foldDeliveries, outcomeType } from './delivery.js';
import { type ReceivedConversion, reopenedBy } from './received.js';

const LOOK_EVERY_MS = 500;
/** One look takes at most that many of one lane; the next look takes more. */
const TAKEN_MAX = 1_000;
/** A parked connection tries one conversion by itself that often. */
const PROBE_EVERY_MS = 15 * 60_000;
const WRITE_AGAIN_MS = 1_000;
const STOP_WITHIN_MS = 3_000;

/** What a lane is known by. */
interface LaneName {
  readonly site: string;
  readonly platform: PlatformName;
}

/** What was taken. */
export type Due = Omit<WaitingDelivery, 'platform' | 'due'> & LaneName;

/**
 * Tries again what waits and is due. Any number of instances look; a try belongs to the one whose claim on it stands,
 * and a claim stands until its holder's lease was ended, by itself or by whoever cleared up after it. Only as much is
 * taken as the lane has room for.
 */
export class Retries {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> | undefined;
  /** Positions of what this process has taken: on its way, or written down and not yet seen by the projection. */
  private readonly taken = new Set<number>();
  private underWay = 0;
  private stopping = false;
  /** When a parked lane was first seen so, or last tried. */
  private readonly probed = new Map<string, number>();

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly courier: Courier,
    private readonly confirmations: Confirmations,
    /** Of this process; undefined while it has none. */
    private readonly lease: () => Lease | undefined,
  ) {}

  start(): void {
    this.timer = setInterval(() => this.lookQuietly(), LOOK_EVERY_MS);
  }

  /** What is on its way gets a moment to arrive: the next one who takes it would send it again. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearInterval(this.timer);
    await this.looking;
    const patience = performance.now() + STOP_WITHIN_MS;
    while (this.underWay > 0 && performance.now() < patience) await new Promise((next) => setTimeout(next, 20));
  }

  private lookQuietly(): void {
    this.looking ??= this.lookAround()
      // The database is away: the next look finds what this one could not.
      .catch(() => {})
      .finally(() => {
        this.looking = undefined;
      });
  }

  /** As long as there is something to take: a backlog is not kept waiting for the clock. */
  private async lookAround(): Promise<void> {
    while ((await this.look()) > 0 && !this.stopping) await new Promise((next) => setImmediate(next));
  }

  /** How many were taken. */
  private async look(): Promise<number> {
    const lease = this.lease();
    if (!lease?.held) return 0;
    let taken = 0;
    for (const lane of await this.dueLanes()) {
      const room = Math.min(this.room(lane), TAKEN_MAX);
      if (room <= 0) continue;
      const rows = await this.take(lane, room, lease);
      if (rows.length > 0) await this.send(rows, lease);
      taken += rows.length;
    }
    await this.forgetClaims(lease);
    return taken;
  }

  /** Lanes with something due: from one to the next along the index, however many deliveries each has waiting. */
  private async dueLanes(): Promise<LaneName[]> {
    const { rows } = await this.pool.query<LaneName>({
      name: 'due-lanes',
      text: `WITH RECURSIVE lanes AS (
          (SELECT site, platform FROM cc.deliveries ORDER BY site, platform LIMIT 1)
          UNION ALL
          SELECT n.site, n.platform FROM lanes l CROSS JOIN LATERAL (
            SELECT site, platform FROM cc.deliveries d WHERE (d.site, d.platform) > (l.site, l.platform)
             ORDER BY site, platform LIMIT 1) n)
        SELECT site, platform FROM lanes l
         WHERE EXISTS (SELECT FROM cc.deliveries d WHERE d.site = l.site AND d.platform = l.platform AND d.due <= now())`,
    });
    return rows;
  }

  private room({ site, platform }: LaneName): number {
    const key = `${site} ${platform}`;
    if (!this.courier.isParked(site, platform)) {
      this.probed.delete(key);
      return this.courier.room(site, platform);
    }
    const now = performance.now();
    const since = this.probed.get(key);
    if (since !== undefined && now - since < PROBE_EVERY_MS) return 0;
    this.probed.set(key, now);
    return since === undefined ? 0 : 1;
  }

  /** Those of its own claims that it knows nothing of are free: it never heard that it made them. */
  private async take({ site, platform }: LaneName, room: number, lease: Lease): Promise<Due[]> {
    const { rows } = await this.pool.query<Due>({
      name: 'take-deliveries',
      text: `WITH taken AS (
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
          FROM cc.deliveries d JOIN taken t ON t.position = d.position ORDER BY d.due`,
      // A question about what was accepted would not show whether a parked connection works again.
      values: [site, platform, lease.name, room, [...this.taken], this.courier.isParked(site, platform)],
    });
    return rows;
  }

  private async send(rows: readonly Due[], lease: Lease): Promise<void> {
    const received = await this.readReceived(rows);
    const reopened = await this.readReopened(rows, received);
    for (const row of rows) {
      const conversion = reopened.get(row) ?? received.get(row.conversion);
      this.taken.add(row.position);
      this.underWay += 1;
      const done = (outcome: Outcome | undefined) =>
        void this.write(row, outcome, lease).finally(() => {
          this.underWay -= 1;
        });
      // First tries are the dispatcher's, and the projection passes over what ends with them.
      const attempt = Math.max(row.attempt, 1) + 1;
      const mayGo = () => lease.held;
      if (!conversion) done({ ...named(row), attempt, status: 'failed', reason: 'no_longer_in_the_log' });
      else if (row.kind === 'confirm') this.confirmations.ask({ row, received: conversion, attempt }, done);
      else {
        const probe = this.courier.isParked(row.site, row.platform);
        const { alone = false, ...details } = row.details;
        const { platform } = row;
        this.courier.carry({ received: conversion, platform, attempt, ...details, alone, probe, mayGo }, done);
      }
    }
  }

  /** A conversion's stream begins with the event that says what was received. */
  private async readReceived(rows: readonly Due[]): Promise<Map<string, ReceivedConversion>> {
    const openings = await this.log.readOpenings(CONVERSION, [...new Set(rows.map((row) => row.conversion))]);
    const received = openings.filter((event) => event.type === 'conversion.received.v1');
    return new Map(received.map((event) => [event.data.conversionId, event]));
  }

  /** Those with a visit that came later: few, so each stream is read by itself. */
  private async readReopened(rows: readonly Due[], received: ReadonlyMap<string, ReceivedConversion>) {
    const reopened = new Map<Due, ReceivedConversion>();
    for (const row of rows) {
      const conversion = received.get(row.conversion);
      const version = row.details.reopened;
      if (version === undefined || !conversion) continue;
      const events = await this.log.readStream(CONVERSION, row.conversion);
      reopened.set(row, reopenedBy(conversion, events, version));
    }
    return reopened;
  }

  /**
   * Until it is written down: should this process end before, its claim ends with it and another one tries again. That
   * other one's word then stands, so nothing is written without the lease.
   */
  private async write(row: Due, outcome: Outcome | undefined, lease: Lease): Promise<void> {
    let isUncertain = false;
    while (outcome && !lease.isLost) {
      if (lease.held) {
        try {
          if (!isUncertain || !(await this.isWritten(outcome))) await this.append(row, outcome);
          return;
        } catch (error) {
          // Refused for good: what stays claimed is not sent over and over.
          if (!(error instanceof LogUnavailable)) return;
          isUncertain = true;
        }
      }
      await new Promise((next) => setTimeout(next, WRITE_AGAIN_MS));
    }
    this.taken.delete(row.position);
  }

  private async append({ conversion, site }: Due, outcome: Outcome): Promise<void> {
    await this.log.append({
      category: CONVERSION,
      stream: conversion,
      expected: 'any',
      site,
      actor: 'system',
      events: [{ type: outcomeType(outcome.status), data: outcome }],
    });
  }

  private async isWritten({ conversionId, platform, attempt }: Outcome): Promise<boolean> {
    const deliveries = foldDeliveries(await withLogTimeout(this.log.readStream(CONVERSION, conversionId)));
    return deliveries.some((delivery) => delivery.platform === platform && delivery.attempts >= attempt);
  }

  /** Of those whose outcome the projection has seen: its row is another one then, or gone. */
  private async forgetClaims(lease: Lease): Promise<void> {
    const { rows } = await this.pool.query<{ position: number }>(
      `DELETE FROM cc.delivery_leases c
        WHERE NOT EXISTS (SELECT FROM cc.deliveries d WHERE d.position = c.position)
          AND (c.holder = $1 OR NOT EXISTS (SELECT FROM cc.leases l WHERE l.name = c.holder))
        RETURNING c.position::float8 AS position`,
      [lease.name],
    );
    for (const { position } of rows) this.taken.delete(position);
  }
}

function named(row: Due): Pick<Outcome, 'conversionId' | 'platform'> {
  return { conversionId: row.conversion, platform: row.platform };
}
