import { randomUUID } from 'node:crypto';
import type { Pool, QueryConfig } from 'pg';

const LEASE_MS = 10_000;
const RENEW_EVERY_MS = 1_000;
/** A connection that died without a word must not cost the lease: the next renewal goes over another one. */
const RENEWED_WITHIN_MS = 2_000;

/**
 * Something that one process owns for a while, by the database's clock. The holder renews it; whoever finds it run out
 * takes it over. `held` is judged by the holder's own steady clock, and ends at half of the lease: a process that was
 * frozen, or cut off from the database, then does nothing more in its name long before somebody else does.
 */
export class Lease {
  private readonly holder = randomUUID();
  private token = '';
  private renewedAt = Number.NEGATIVE_INFINITY;
  private timer: NodeJS.Timeout | undefined;
  private renewing: Promise<void> | undefined;
  private lost = false;
  /** How far the holder has come; written down with every renewal. */
  reached = 0;

  private constructor(
    private readonly pool: Pool,
    readonly name: string,
    private readonly leaseMs: number,
  ) {}

  /** A new one, or one that has run out; undefined when somebody holds it. `reached` is only for a new one. */
  static async take(pool: Pool, name: string, reached = 0, leaseMs = LEASE_MS): Promise<Lease | undefined> {
    const lease = new Lease(pool, name, leaseMs);
    const asked = performance.now();
    const { rows } = await pool.query<{ reached: string; token: string }>(
      `INSERT INTO cc.leases AS l (name, holder, token, until, reached)
       VALUES ($1, $2, 1, clock_timestamp() + make_interval(secs => $3), $4)
       ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = l.token + 1, until = excluded.until
          WHERE l.until < clock_timestamp()
       RETURNING reached, token`,
      [name, lease.holder, leaseMs / 1_000, reached],
    );
    if (!rows[0]) return undefined;
    lease.reached = Number(rows[0].reached);
    lease.token = rows[0].token;
    lease.renewedAt = asked;
    lease.timer = setInterval(() => lease.renewQuietly(), RENEW_EVERY_MS);
    return lease;
  }

  /**
   * There is more to do under this name after a position, and nobody who does it: as if its holder had died there. Should
   * somebody be at it now, it is left to the next one when he ends, since he may have looked already.
   */
  static async leave(pool: Pool, name: string, reached: number): Promise<void> {
    await pool.query(
      `INSERT INTO cc.leases AS l (name, holder, token, until, reached) VALUES ($1, $2, 1, '-infinity', $3)
       ON CONFLICT (name) DO UPDATE SET token = l.token + 1, reached = least(l.reached, excluded.reached)`,
      [name, randomUUID(), reached],
    );
  }

  /** The names of leases that have run out. */
  static async expired(pool: Pool, prefix: string): Promise<string[]> {
    const { rows } = await pool.query<{ name: string }>(
      'SELECT name FROM cc.leases WHERE starts_with(name, $1) AND until < clock_timestamp() ORDER BY until',
      [prefix],
    );
    return rows.map(({ name }) => name);
  }

  get held(): boolean {
    return !this.lost && performance.now() - this.renewedAt < this.leaseMs / 2;
  }

  /** Somebody else has it, or it was given up: it does not come back. */
  get isLost(): boolean {
    return this.lost;
  }

  /** What it stood for is done, unless more was left to it meanwhile. */
  async end(): Promise<void> {
    await this.stop();
    const { rowCount } = await this.pool.query('DELETE FROM cc.leases WHERE name = $1 AND holder = $2 AND token = $3', [
      this.name,
      this.holder,
      this.token,
    ]);
    if (!rowCount) await this.giveBack();
  }

  /** What it stood for is not done: the next one may take over at once. */
  async release(): Promise<void> {
    await this.stop();
    await this.giveBack();
  }

  private async giveBack(): Promise<void> {
    await this.pool.query(`UPDATE cc.leases SET until = '-infinity', reached = $3 WHERE name = $1 AND holder = $2`, [
      this.name,
      this.holder,
      this.reached,
    ]);
  }

  private async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.renewing;
    this.lost = true;
  }

  private renewQuietly(): void {
    this.renewing ??= this.renew()
      // The database is away: `held` ends by itself.
      .catch(() => {})
      .finally(() => {
        this.renewing = undefined;
      });
  }

  private async renew(): Promise<void> {
    // The moment before asking: the lease cannot have been renewed earlier than that.
    const asked = performance.now();
    const { rowCount } = await this.pool.query({
      text: `UPDATE cc.leases SET until = clock_timestamp() + make_interval(secs => $3), reached = $4
              WHERE name = $1 AND holder = $2`,
      values: [this.name, this.holder, this.leaseMs / 1_000, this.reached],
      // pg knows this option of a query, its types do not.
      query_timeout: RENEWED_WITHIN_MS,
    } as QueryConfig);
    if (rowCount) this.renewedAt = asked;
    else {
      this.lost = true;
      clearInterval(this.timer);
    }
  }
}
