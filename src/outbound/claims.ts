import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';

const PREFIX = 'outbound:';
/** From the claim to the beginning of the last call under it. */
const BEGIN_WITHIN_MS = 5_000;
/** From the end of that call until its outcome is in the log, which gives up a little earlier. */
const WRITTEN_WITHIN_MS = 7_000;

/**
 * The right to close and push stretches of one site, for a while that is long enough for one try and is not renewed.
 * Judged by the holder's own steady clock from the moment before it asked: a process that was frozen, or cut off, finds
 * that its time is over before somebody else's begins.
 */
export class Claim {
  constructor(
    private readonly pool: Pool,
    private readonly name: string,
    private readonly holder: string,
    private readonly askedMs: number,
    private readonly timeoutMs: number,
  ) {}

  /** Whether something may be begun. */
  get mayBegin(): boolean {
    return performance.now() - this.askedMs < BEGIN_WITHIN_MS;
  }

  /** Whether what was begun may still be sent. */
  get maySend(): boolean {
    return performance.now() - this.askedMs < BEGIN_WITHIN_MS + this.timeoutMs;
  }

  async release(): Promise<void> {
    await this.pool.query('DELETE FROM cc.leases WHERE name = $1 AND holder = $2', [this.name, this.holder]);
  }
}

/** Those of the sites that nobody else has, by site. */
export async function claimSites(pool: Pool, sites: readonly string[], timeoutMs: number): Promise<Map<string, Claim>> {
  const holder = randomUUID();
  const askedMs = performance.now();
  const { rows } = await pool.query<{ name: string }>(
    // In order, so that two who ask for the same ones do not wait for each other in a circle.
    `INSERT INTO cc.leases AS l (name, holder, token, until, reached)
     SELECT name, $2, 1, clock_timestamp() + make_interval(secs => $3), 0 FROM unnest($1::text[]) AS name ORDER BY name
     ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = l.token + 1, until = excluded.until
        WHERE l.until < clock_timestamp()
     RETURNING name`,
    [sites.map((site) => PREFIX + site), holder, (BEGIN_WITHIN_MS + timeoutMs + WRITTEN_WITHIN_MS) / 1_000],
  );
  return new Map(
    rows.map(({ name }) => [name.slice(PREFIX.length), new Claim(pool, name, holder, askedMs, timeoutMs)]),
  );
}
