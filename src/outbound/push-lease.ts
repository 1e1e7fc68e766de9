import { randomUUID } from 'node:crypto';
import { hasEnded, type LeaseDatabase } from '../postgres/lease.js';

const PREFIX = 'outbound:';
/** From acquiring the lease to the start of the last request under it. */
const START_WITHIN_MS = 5_000;
/** From the end of that request until its outcome is in the log; the append times out a little earlier. */
const RECORD_WITHIN_MS = 7_000;

/**
 * The lease to close and push the reporting windows of one site. It lasts long enough for one attempt and is not renewed. The
 * holder measures it with its monotonic clock from before the request: a process that was frozen or disconnected finds the lease
 * expired before another process can acquire it.
 */
export class PushLease {
  constructor(
    private readonly database: LeaseDatabase,
    private readonly name: string,
    private readonly holder: string,
    private readonly requestedMs: number,
    private readonly timeoutMs: number,
  ) {}

  /** Whether another step may start. */
  get mayStart(): boolean {
    return performance.now() - this.requestedMs < START_WITHIN_MS;
  }

  /** Whether a started request may still be sent. */
  get maySend(): boolean {
    return performance.now() - this.requestedMs < START_WITHIN_MS + this.timeoutMs;
  }

  async release(): Promise<void> {
    await this.database.pool.query('DELETE FROM cc.leases WHERE name = $1 AND holder = $2', [this.name, this.holder]);
  }
}

/** Acquires the leases of those sites that no other process holds. */
export async function acquirePushLeases(
  database: LeaseDatabase,
  sites: readonly string[],
  timeoutMs: number,
): Promise<Map<string, PushLease>> {
  const holder = randomUUID();
  const requestedMs = performance.now();
  const { rows } = await database.pool.query<{ name: string }>(
    // Ordered, so that two processes that request the same leases cannot deadlock.
    `INSERT INTO cc.leases AS l (name, holder, token, until, reached)
     SELECT name, $2, 1, to_timestamp($4) + make_interval(secs => $3), 0 FROM unnest($1::text[]) AS name ORDER BY name
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = l.token + 1, until = excluded.until
        WHERE ${hasEnded('$4', '$3')}
     RETURNING name`,
    [
      sites.map((site) => PREFIX + site),
      holder,
      (START_WITHIN_MS + timeoutMs + RECORD_WITHIN_MS) / 1_000,
      database.clock.at(requestedMs) / 1_000,
    ],
  );
  return new Map(
    rows.map(({ name }) => [name.slice(PREFIX.length), new PushLease(database, name, holder, requestedMs, timeoutMs)]),
  );
}

/** Whether a process pushes for the site at the moment, or may have died while it did. */
export async function isPushing({ pool, clock }: LeaseDatabase, site: string): Promise<boolean> {
  const { rowCount } = await pool.query('SELECT FROM cc.leases WHERE name = $1 AND until > to_timestamp($2)', [
    PREFIX + site,
    clock.nowMs() / 1_000,
  ]);
  return rowCount === 1;
}
