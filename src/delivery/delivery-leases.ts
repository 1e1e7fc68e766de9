import { randomUUID } from 'node:crypto';
import type { ClientBase } from 'pg';
import { CONVERSION } from '../events/conversion.events.js';
import { readOpenings } from '../log/event-reader.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { hasEnded } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import { type AttemptPermit, type AttemptWindow, permitLeased } from './attempt-window.js';
import { isoTime } from './delivery.js';

/** A lost connection must not block a round: the next one uses another. */
export const QUERY_TIMEOUT_MS = 5_000;
/** A request for leases that arrives later takes none: its sender has given up, and another process may hold them since. */
const LATE_AFTER_MS = 2 * QUERY_TIMEOUT_MS;
/** Left behind by processes that died after they recorded the outcome. Any time after the lease has ended will do. */
const FORGOTTEN_AFTER_MS = 600_000;

export interface DeliveryKey {
  readonly conversion: string;
  readonly platform: ConnectionName;
}

/** Not a later one of the same process: the bytes of a release may arrive late, too. */
const THIS_LEASE = `l.holder = $3 AND abs(date_part('epoch', l.until) * 1000 - k.until) < 1`;

interface TakenLease extends DeliveryKey {
  /** In milliseconds. */
  readonly until: number;
  /** End of a lease that was not released: its holder may have sent the conversion and recorded no outcome. */
  readonly earlier: number | null;
}

export interface HeldLease extends DeliveryKey {
  readonly permit: AttemptPermit;
}

export interface RecordedLease extends HeldLease {
  /** Position of the event that scheduled the attempt; 0 for a first attempt. */
  readonly position: number;
}

/** A lease as it goes to another cell with its site: under it the conversion may have been sent. */
export interface CopiedLease extends DeliveryKey {
  /** In milliseconds. */
  readonly until: number;
}

/** All leases, each with the site of its delivery if that waits for a next attempt. */
export async function readLeases({ pool }: Pick<Postgres, 'pool'>): Promise<(CopiedLease & { site: string | null })[]> {
  const { rows } = await pool.query<CopiedLease & { site: string | null }>(
    `SELECT l.conversion, l.platform, date_part('epoch', l.until) * 1000 AS until, d.site
       FROM cc.delivery_leases l LEFT JOIN cc.deliveries d USING (conversion, platform)`,
  );
  return rows;
}

/**
 * In a transaction of the caller. No process of this cell holds them, so they are taken when they have ended. Only those of conversions
 * of the site; a lease that has not ended here stays.
 */
export async function storeLeases(client: ClientBase, site: string, copied: readonly CopiedLease[]): Promise<void> {
  const openings = await readOpenings(client, CONVERSION, [...new Set(copied.map(({ conversion }) => conversion))]);
  const own = new Set(openings.filter((event) => event.site === site).map(({ stream }) => stream));
  const leases = copied.filter(({ conversion }) => own.has(`${CONVERSION}-${conversion}`));
  await client.query(
    `INSERT INTO cc.delivery_leases AS l (conversion, platform, holder, until)
     SELECT conversion, platform, $3, to_timestamp(until / 1000)
       FROM unnest($1::uuid[], $2::text[], $4::float8[]) AS k (conversion, platform, until)
      ORDER BY conversion, platform
     ON CONFLICT (conversion, platform) DO UPDATE SET (holder, until) = (excluded.holder, excluded.until)
        WHERE l.until < excluded.until AND l.until < clock_timestamp()`,
    [...columns(leases), randomUUID(), leases.map(({ until }) => until)],
  );
}

/**
 * Leases of single deliveries, by the database's clock. A lease is not renewed: it lasts for one attempt, so a process that is
 * frozen or disconnected can neither send nor record after another one has taken the delivery.
 */
export class DeliveryLeases {
  private readonly holder = randomUUID();

  constructor(
    private readonly postgres: Postgres,
    private readonly window: AttemptWindow,
  ) {}

  /** SQL: a lease `l` that has not ended at the time of the parameter, in seconds. */
  isHeld(now: string): string {
    return `NOT ${this.hasEnded(now)}`;
  }

  private hasEnded(now: string): string {
    return hasEnded(now, String(this.window.lease.endsAfterMs / 1_000));
  }

  /** Takes those that no other process holds. The caller takes none that it is carrying out. */
  async take<Key extends DeliveryKey>(keys: readonly Key[]): Promise<Map<Key, AttemptPermit>> {
    // Taken before the query: the lease cannot have begun earlier.
    const requestedMs = performance.now();
    const { endsAfterMs } = this.window.lease;
    const rows = await this.query<TakenLease>(
      // Ordered, so that two processes that take the same leases cannot deadlock.
      `WITH keys AS (SELECT * FROM unnest($1::uuid[], $2::text[]) AS k (conversion, platform)),
       earlier AS (SELECT conversion, platform, l.until FROM cc.delivery_leases l JOIN keys USING (conversion, platform)),
       taken AS (
         INSERT INTO cc.delivery_leases AS l (conversion, platform, holder, until)
         SELECT conversion, platform, $3, to_timestamp($5) + make_interval(secs => $4) FROM keys
          WHERE clock_timestamp() < to_timestamp($5) + make_interval(secs => $6) ORDER BY conversion, platform
         ON CONFLICT (conversion, platform) DO UPDATE SET holder = excluded.holder, until = excluded.until
            WHERE ${this.hasEnded('$5')} OR l.holder = excluded.holder
         RETURNING conversion, platform, until)
       SELECT conversion, platform, date_part('epoch', t.until) * 1000 AS until, date_part('epoch', e.until) * 1000 AS earlier
         FROM taken t LEFT JOIN earlier e USING (conversion, platform)`,
      [
        ...[...columns(keys), this.holder, endsAfterMs / 1_000, this.postgres.clock.at(requestedMs) / 1_000],
        LATE_AFTER_MS / 1_000,
      ],
    );
    const taken = new Map(rows.map((row) => [keyOf(row), row]));
    return new Map(
      keys.flatMap((key) => {
        const row = taken.get(keyOf(key));
        if (!row) return [];
        const maybeSentAt = row.earlier === null ? undefined : isoTime(Math.min(row.earlier, row.until) - endsAfterMs);
        return [[key, permitLeased(requestedMs, row.until, this.window, maybeSentAt)] as const];
      }),
    );
  }

  /** Ends leases under which nothing was sent: any process may take the delivery at once. */
  async release(leases: readonly HeldLease[]): Promise<void> {
    if (leases.length === 0) return;
    await this.query(
      `DELETE FROM cc.delivery_leases l USING unnest($1::uuid[], $2::text[], $4::float8[]) AS k (conversion, platform, until)
        WHERE l.conversion = k.conversion AND l.platform = k.platform AND ${THIS_LEASE}`,
      [...columns(leases), this.holder, this.ends(leases)],
    );
  }

  /**
   * Ends leases whose outcome is recorded, and returns them. Those whose row in the projection is not folded yet stay: another
   * process would take the delivery for one that is due, and find out from the log only.
   */
  async releaseRecorded(leases: readonly RecordedLease[]): Promise<Set<string>> {
    if (leases.length === 0) return new Set();
    const rows = await this.query<DeliveryKey>(
      `DELETE FROM cc.delivery_leases l
        USING unnest($1::uuid[], $2::text[], $4::float8[], $5::bigint[]) AS k (conversion, platform, until, position)
        WHERE l.conversion = k.conversion AND l.platform = k.platform AND ${THIS_LEASE}
          AND NOT EXISTS (SELECT FROM cc.deliveries d
                           WHERE d.conversion = k.conversion AND d.platform = k.platform AND d.position = k.position)
        RETURNING l.conversion, l.platform`,
      [...columns(leases), this.holder, this.ends(leases), leases.map(({ position }) => position)],
    );
    return new Set(rows.map(keyOf));
  }

  private ends(leases: readonly HeldLease[]): number[] {
    const { endsAfterMs, recordWithinMs } = this.window.lease;
    return leases.map(({ permit }) => permit.notAfterMs + endsAfterMs - recordWithinMs);
  }

  /** Deletes leases that ended long ago and that nothing will release. */
  async deleteForgotten(): Promise<void> {
    const beforeMs = this.postgres.clock.nowMs() - FORGOTTEN_AFTER_MS;
    await this.query('DELETE FROM cc.delivery_leases WHERE until < to_timestamp($1)', [beforeMs / 1_000]);
  }

  private async query<Row extends object = object>(text: string, values: unknown[]): Promise<Row[]> {
    // pg supports this option of a query; its types lack it.
    const config = { text, values, query_timeout: QUERY_TIMEOUT_MS } as object as { text: string };
    return (await this.postgres.pool.query<Row>(config)).rows;
  }
}

export function keyOf({ conversion, platform }: DeliveryKey): string {
  return `${conversion} ${platform}`;
}

function columns(keys: readonly DeliveryKey[]): [string[], string[]] {
  return [keys.map(({ conversion }) => conversion), keys.map(({ platform }) => platform)];
}
