import { randomUUID } from 'node:crypto';
import { AlignedInterval } from '../kernel/aligned-interval.js';
import { LINEAGE } from './lineage.js';
import type { Postgres } from './postgres.js';

const LEASE_MS = 10_000;
const RENEW_EVERY_MS = 1_000;
/** A connection that died unnoticed must not cost the lease: the next renewal uses another one. */
const RENEW_TIMEOUT_MS = 2_000;

/** Leases use the trusted time of the clock: a step of the database's clock must neither end them nor extend them. */
export type LeaseDatabase = Pick<Postgres, 'pool' | 'clock'>;

/**
 * Whether a lease `l` has ended, by the time and the length in seconds that the parameters hold. One that lasts longer than a
 * lease can was taken by a clock that was ahead.
 */
export function hasEnded(now: string, seconds: string): string {
  return `(l.until < to_timestamp(${now}) OR l.until > to_timestamp(${now}) + make_interval(secs => ${seconds} + 10))`;
}

/**
 * A lease by the database's clock. The holder renews it, unless one attempt is all that it is for; another process takes it over once
 * it has expired. `held` and `ageMs` use the holder's monotonic clock. `held` ends at half of the lease: a process that was frozen,
 * or disconnected from the database, stops acting for the lease well before another process starts.
 */
export class Lease {
  private timer: AlignedInterval | undefined;
  private renewing: Promise<void> | undefined;
  private lost = false;

  private constructor(
    private readonly database: LeaseDatabase,
    readonly name: string,
    private readonly holder: string,
    readonly leaseMs: number,
    private renewedMs: number,
    /** The holder's progress; stored with every renewal. */
    public reached: number,
    private readonly lineage: string,
  ) {}

  /** Takes a new or an expired lease and renews it; undefined if it is held. `reached` applies to a new lease only. */
  static async take(
    database: LeaseDatabase,
    name: string,
    reached = 0,
    leaseMs = LEASE_MS,
  ): Promise<Lease | undefined> {
    const lease = (await Lease.takeOnce(database, [name], leaseMs, reached)).get(name);
    if (lease) lease.timer = new AlignedInterval(() => lease.renewQuietly(), RENEW_EVERY_MS);
    return lease;
  }

  /** Takes those that are new or expired. They are not renewed. */
  static async takeOnce(
    database: LeaseDatabase,
    names: readonly string[],
    leaseMs: number,
    reached = 0,
  ): Promise<Map<string, Lease>> {
    const holder = randomUUID();
    // Taken before the query: no lease can have begun earlier.
    const requestedMs = performance.now();
    const { rows } = await database.pool.query<{ name: string; reached: string; lineage: string }>(
      // Ordered, so that two processes that take the same leases cannot deadlock.
      `INSERT INTO cc.leases AS l (name, holder, token, until, reached)
       SELECT name, $2, 1, to_timestamp($5) + make_interval(secs => $3), $4 FROM unnest($1::text[]) AS name ORDER BY name
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = l.token + 1, until = excluded.until
          WHERE ${hasEnded('$5', '$3')}
       RETURNING name, reached, (SELECT ${LINEAGE}) AS lineage`,
      [names, holder, leaseMs / 1_000, reached, database.clock.at(requestedMs) / 1_000],
    );
    const leaseOf = (row: (typeof rows)[number]) =>
      new Lease(database, row.name, holder, leaseMs, requestedMs, Number(row.reached), row.lineage);
    return new Map(rows.map((row) => [row.name, leaseOf(row)]));
  }

  /** Since it was taken or renewed, at most. */
  get ageMs(): number {
    return performance.now() - this.renewedMs;
  }

  get held(): boolean {
    return !this.lost && this.ageMs < this.leaseMs / 2;
  }

  /** Final: another process has the lease, it was released, or the database failed over. */
  get isLost(): boolean {
    return this.lost;
  }

  /** Expires the lease: another process can take over at once. */
  async release(): Promise<void> {
    this.timer?.stop();
    await this.renewing;
    this.lost = true;
    await this.database.pool.query(
      `UPDATE cc.leases SET until = '-infinity', reached = $3 WHERE name = $1 AND holder = $2 AND ${LINEAGE} = $4`,
      [this.name, this.holder, this.reached, this.lineage],
    );
  }

  private renewQuietly(): void {
    this.renewing ??= this.renew()
      // The database is unreachable: `held` turns false when half of the lease is over.
      .catch(() => {})
      .finally(() => {
        this.renewing = undefined;
      });
  }

  private async renew(): Promise<void> {
    // Taken before the query: the lease cannot have been renewed earlier.
    const requestedMs = performance.now();
    const { rowCount } = await this.database.pool.query({
      name: 'renew-lease',
      text: `UPDATE cc.leases SET until = to_timestamp($5) + make_interval(secs => $3), reached = $4
              WHERE name = $1 AND holder = $2 AND ${LINEAGE} = $6`,
      values: [
        ...[this.name, this.holder, this.leaseMs / 1_000, this.reached],
        ...[this.database.clock.at(requestedMs) / 1_000, this.lineage],
      ],
      query_timeout: RENEW_TIMEOUT_MS,
    });
    if (rowCount) this.renewedMs = requestedMs;
    else {
      this.lost = true;
      this.timer?.stop();
    }
  }
}

/** The progress that the last holder stored; 0 if none did. */
export async function readReached({ pool }: Pick<LeaseDatabase, 'pool'>, name: string): Promise<number> {
  const { rows } = await pool.query<{ reached: string }>('SELECT reached FROM cc.leases WHERE name = $1', [name]);
  return Number(rows[0]?.reached ?? 0);
}
