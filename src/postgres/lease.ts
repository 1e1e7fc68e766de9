import { randomUUID } from 'node:crypto';
import type { Pool, QueryConfig } from 'pg';

const LEASE_MS = 10_000;
const RENEW_EVERY_MS = 1_000;
/** A connection that died unnoticed must not cost the lease: the next renewal uses another one. */
const RENEW_TIMEOUT_MS = 2_000;

/**
 * A lease by the database's clock. The holder renews it; another process takes it over once it has expired. `held` uses the
 * holder's monotonic clock and ends at half of the lease: a process that was frozen, or disconnected from the database,
 * stops acting for the lease well before another process starts.
 */
export class Lease {
  private readonly holder = randomUUID();
  private renewedMs = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> | undefined;
  private lost = false;
  /** The holder's progress; stored with every renewal. */
  reached = 0;

  private constructor(
    private readonly pool: Pool,
    readonly name: string,
    private readonly leaseMs: number,
  ) {}

  /**
   * Takes a new or an expired lease; undefined if it is held. `reached` applies to a new lease only. One that ends later than a
   * lease can was taken while the database's clock was ahead, and would outlive a dead holder by as much: it counts as expired.
   */
  static async take(pool: Pool, name: string, reached = 0, leaseMs = LEASE_MS): Promise<Lease | undefined> {
    const lease = new Lease(pool, name, leaseMs);
    const requestedMs = performance.now();
    const { rows } = await pool.query<{ reached: string }>(
      `INSERT INTO cc.leases AS l (name, holder, token, until, reached)
       VALUES ($1, $2, 1, clock_timestamp() + make_interval(secs => $3), $4)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = l.token + 1, until = excluded.until
          WHERE l.until < clock_timestamp() OR l.until > clock_timestamp() + make_interval(secs => 2 * $3)
       RETURNING reached`,
      [name, lease.holder, leaseMs / 1_000, reached],
    );
    if (!rows[0]) return undefined;
    lease.reached = Number(rows[0].reached);
    lease.renewedMs = requestedMs;
    lease.timer = setInterval(() => lease.renewQuietly(), RENEW_EVERY_MS);
    return lease;
  }

  get held(): boolean {
    return !this.lost && performance.now() - this.renewedMs < this.leaseMs / 2;
  }

  /** Final: another process has the lease, or it was released. */
  get isLost(): boolean {
    return this.lost;
  }

  /** Expires the lease: another process can take over at once. */
  async release(): Promise<void> {
    clearInterval(this.timer);
    await this.renewing;
    this.lost = true;
    await this.pool.query(`UPDATE cc.leases SET until = '-infinity', reached = $3 WHERE name = $1 AND holder = $2`, [
      this.name,
      this.holder,
      this.reached,
    ]);
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
    const { rowCount } = await this.pool.query({
      text: `UPDATE cc.leases SET until = clock_timestamp() + make_interval(secs => $3), reached = $4
              WHERE name = $1 AND holder = $2`,
      values: [this.name, this.holder, this.leaseMs / 1_000, this.reached],
      // pg supports this option of a query; its types lack it.
      query_timeout: RENEW_TIMEOUT_MS,
    } as QueryConfig);
    if (rowCount) this.renewedMs = requestedMs;
    else {
      this.lost = true;
      clearInterval(this.timer);
    }
  }
}
