import { Injectable } from '@nestjs/common';
import { Poller } from '../kernel/poller.js';
import { Postgres } from '../postgres/postgres.js';
import { asOfIn } from '../sites/connections/connection.js';
import { Confirmations } from './confirmations.js';
import { boundSince, type DueDelivery } from './deliveries.projection.js';
import { nextAttempt } from './delivery.saga.js';
import { DeliveryLeases, QUERY_TIMEOUT_MS } from './delivery-leases.js';
import { type DueAttempt, LeasedAttempts } from './leased-attempts.js';
import { PlatformDelivery } from './platform-delivery.js';

/** Deliveries of one connection that one poll leases at most; the next poll leases more. */
const LEASED_MAX = 1_000;
/** How often one delivery is attempted on a parked connection, to find out whether it works again. */
const PROBE_EVERY_MS = 15 * 60_000;

const DUE_COLUMNS =
  'd.conversion, d.platform, d.site, d.position::float8 AS position, d.kind, d.attempt, d.reason, d.details';

type ConnectionKey = Pick<DueDelivery, 'site' | 'platform'>;

interface DueWork {
  readonly hasTooOld: true | null;
  /** Those with a due delivery. */
  readonly connections: readonly ConnectionKey[];
}

/**
 * Carries out deliveries that are due: next attempts and status requests. Every instance polls; a delivery belongs to the
 * one that holds its delivery lease. A poll leases only as many deliveries as the connection's queue can accept.
 */
@Injectable()
export class RetryScheduler {
  /** Every query times out, so a lost connection does not end the polls. */
  private readonly poller = new Poller(() => this.startAll());
  /** When a parked connection was first seen, or last probed. */
  private readonly probed = new Map<string, number>();

  constructor(
    private readonly postgres: Postgres,
    private readonly deliveries: PlatformDelivery,
    private readonly confirmations: Confirmations,
    private readonly attempts: LeasedAttempts,
    private readonly leases: DeliveryLeases,
  ) {}

  start(everyMs: number): void {
    this.poller.start(everyMs);
  }

  stop(): Promise<void> {
    return this.poller.stop();
  }

  /** Repeats without delay while deliveries are due, so that a backlog does not wait for the next interval. */
  private async startAll(): Promise<void> {
    while ((await this.startDue()) > 0 && !this.poller.isStopping) await new Promise((next) => setImmediate(next));
  }

  /** Returns how many attempts were started. */
  private async startDue(): Promise<number> {
    await this.attempts.tidy();
    const { hasTooOld, connections } = await this.readDueWork();
    let started = hasTooOld ? await this.startTooOld() : 0;
    for (const connection of connections) {
      if (this.poller.isStopping) break;
      const capacity = Math.min(this.capacity(connection), LEASED_MAX);
      if (capacity <= 0) continue;
      const due = await this.readDue(connection, capacity);
      started += await this.attempts.start(due.map((delivery) => this.toAttempt(delivery)));
    }
    return started;
  }

  /**
   * In one query, because most polls find nothing. It skips along one index, and is given the order of the other: its cost does not
   * depend on how many deliveries wait.
   */
  private async readDueWork(): Promise<DueWork> {
    const [work] = await this.query<DueWork>({
      name: 'due-work',
      text: `WITH RECURSIVE connections AS (
          (SELECT site, platform FROM cc.deliveries ORDER BY site, platform LIMIT 1)
          UNION ALL
          SELECT n.site, n.platform FROM connections c CROSS JOIN LATERAL (
            SELECT site, platform FROM cc.deliveries d WHERE (d.site, d.platform) > (c.site, c.platform)
             ORDER BY site, platform LIMIT 1) n)
        SELECT (SELECT true FROM cc.deliveries d WHERE ${this.tooOld('$1', '$2')} ORDER BY d.give_up_at LIMIT 1) AS "hasTooOld",
               ARRAY (SELECT json_build_object('site', site, 'platform', platform) FROM connections c
                       WHERE EXISTS (SELECT FROM cc.deliveries d WHERE d.site = c.site AND d.platform = c.platform
                                        AND d.due <= to_timestamp($1))) AS connections`,
      values: [this.nowSeconds(), this.deliveries.closedSites()],
    });
    return work as DueWork;
  }

  private capacity({ site, platform }: ConnectionKey): number {
    if (!this.deliveries.actsFor(site)) return 0;
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

  /** Whatever the state of their connection: an attempt records that they are too old, and sends nothing. */
  private async startTooOld(): Promise<number> {
    const tooOld = await this.query<DueDelivery>({
      name: 'too-old-deliveries',
      text: `SELECT ${DUE_COLUMNS} FROM cc.deliveries d WHERE ${this.tooOld('$2', '$3')} ORDER BY d.give_up_at LIMIT $1`,
      values: [LEASED_MAX, this.nowSeconds(), this.deliveries.closedSites()],
    });
    const ours = tooOld.filter(({ site }) => this.deliveries.actsFor(site));
    // No probes: of a parked connection only one delivery at a time is attempted.
    return this.attempts.start(ours.map((delivery) => this.toAttempt(delivery, false)));
  }

  /** SQL: the delivery `d` has become too old, and no process is carrying it out. */
  private tooOld(now: string, closedSites: string): string {
    return `d.give_up_at <= to_timestamp(${now}) AND d.kind = 'send' AND d.site <> ALL (${closedSites}) AND ${this.notLeased(now)}`;
  }

  /** Due deliveries that no process is carrying out. */
  private async readDue({ site, platform }: ConnectionKey, capacity: number): Promise<DueDelivery[]> {
    return this.query<DueDelivery>({
      name: 'due-deliveries',
      text: `SELECT ${DUE_COLUMNS} FROM cc.deliveries d
              WHERE d.site = $1 AND d.platform = $2 AND d.due <= to_timestamp($5) AND (d.kind = 'send' OR NOT $4)
                AND ${this.notLeased('$5')}
              ORDER BY d.due LIMIT $3`,
      // A status request does not prove that a parked connection works again, so it is no probe.
      values: [site, platform, capacity, this.deliveries.isParked(site, platform), this.nowSeconds()],
    });
  }

  /** SQL: no process is carrying out the delivery `d`. */
  private notLeased(now: string): string {
    return `NOT EXISTS (SELECT FROM cc.delivery_leases l
      WHERE l.conversion = d.conversion AND l.platform = d.platform AND ${this.leases.isHeld(now)})`;
  }

  /** The trusted time: a step of the database's clock must not make deliveries due. */
  private nowSeconds(): number {
    return this.postgres.clock.nowMs() / 1_000;
  }

  private toAttempt(due: DueDelivery, isProbe = true): DueAttempt {
    const { conversion, platform, site, position, kind, details } = due;
    const { alone = false, bodySha256, eventId, payloadVersion, reopened, without } = details;
    const attempt = nextAttempt(due.attempt);
    return {
      conversion,
      platform,
      site,
      position,
      attempt,
      reopened,
      start: (received, permit) => {
        if (kind === 'confirm') return this.confirmations.confirm({ due, received, attempt });
        const probe = isProbe && this.deliveries.isParked(site, platform);
        const mayDeliver = () => permit.mayStart;
        const unknownSince = boundSince(due, received.time);
        const { maybeSentAt } = permit;
        const sent = { bodySha256, eventId, payloadVersion, asOf: asOfIn(details), reopened, without };
        const request = { received, platform, attempt, ...sent };
        return this.deliveries.deliver({ ...request, unknownSince, maybeSentAt, alone, probe, mayDeliver });
      },
    };
  }

  private async query<Row extends object>(config: { name: string; text: string; values: unknown[] }): Promise<Row[]> {
    // pg supports the option `query_timeout` of a query; its types lack it.
    const timed = { ...config, query_timeout: QUERY_TIMEOUT_MS };
    return (await this.postgres.pool.query<Row>(timed)).rows;
  }
}
