import type { Pool, PoolClient } from 'pg';
import { readChainHead } from '../log/audit/chain-audit.js';
import { type Queryable, withQueryTimeout } from '../log/event-reader.js';
import { transaction } from '../postgres/transaction.js';
import { readCheckpoint, signCheckpoint } from './checkpoint.js';
import type { SigningKeys } from './signing-keys.js';

/** Advisory lock: one process at a time decides whether a checkpoint is due. */
const CHECKPOINT_LOCK = 4845008;
const EVERY_MS = 60_000;
/** A push of totals does not wait longer for its header. */
const NEWEST_TIMEOUT_MS = 1_000;
/** Checkpoints of the last day stay as they are; of each earlier hour the last one stays. */
const THINNED_AFTER = '1 day';

export interface StoredCheckpoint {
  readonly position: number;
  readonly token: string;
}

/** The signed checkpoints of this log, in the table `cc.checkpoints`. */
export class Checkpoints {
  constructor(
    private readonly pool: Pool,
    private readonly keys: SigningKeys,
    private readonly cell: string,
  ) {}

  /**
   * Signs the head of the chain, if it has moved since the last checkpoint and that one is at least a minute old. Returns
   * undefined if nothing was due, or if another process is deciding.
   */
  async createIfDue(): Promise<StoredCheckpoint | undefined> {
    // Without a transaction and without the key: an idle log costs two look-ups by index.
    const [head, newest] = [await readChainHead(this.pool), await readNewest(this.pool)];
    return head && head.position > (newest?.position ?? 0) ? this.create(EVERY_MS) : undefined;
  }

  /** A checkpoint of the present head by the present key, however young the last one is. Undefined in a log without seals. */
  async current(): Promise<StoredCheckpoint | undefined> {
    return (await this.create(0)) ?? readNewest(this.pool);
  }

  /** Oldest first. */
  async unpublished(limit: number): Promise<StoredCheckpoint[]> {
    const { rows } = await this.pool.query<Row>(
      'SELECT position, token FROM cc.checkpoints WHERE NOT published ORDER BY position LIMIT $1',
      [limit],
    );
    return rows.map(toCheckpoint);
  }

  async markPublished(checkpoints: readonly StoredCheckpoint[]): Promise<void> {
    // Not one that another key has signed in the meantime, in the same place.
    await this.pool.query('UPDATE cc.checkpoints SET published = true WHERE position = ANY ($1) AND token = ANY ($2)', [
      checkpoints.map(({ position }) => position),
      checkpoints.map(({ token }) => token),
    ]);
  }

  private async create(everyMs: number): Promise<StoredCheckpoint | undefined> {
    // Generates the first key before the transaction, which then waits for nothing but its own queries.
    await this.keys.active();
    return transaction(this.pool, async (client) => {
      const lock = everyMs > 0 ? 'pg_try_advisory_xact_lock' : 'pg_advisory_xact_lock';
      const { rows } = await client.query<{ locked: boolean | '' }>(`SELECT ${lock}($1) AS locked`, [CHECKPOINT_LOCK]);
      if (rows[0]?.locked === false) return undefined;
      // Read here: the key may have been replaced while this process was frozen.
      const key = await this.keys.activeUntilCommit(client);
      const head = await readChainHead(client);
      if (!head || !(await this.isDue(client, head.position, key.id, everyMs))) return undefined;
      const now = await client.query<{ time: Date }>('SELECT clock_timestamp()::timestamptz(3) AS time');
      const time = (now.rows[0] as { time: Date }).time.toISOString();
      const token = signCheckpoint(key, {
        cell: this.cell,
        position: head.position,
        head: head.head,
        time,
      });
      await client.query(
        `INSERT INTO cc.checkpoints (position, time, token) VALUES ($1, $2, $3)
         ON CONFLICT (position) DO UPDATE SET (time, token, published) = (excluded.time, excluded.token, false)`,
        [head.position, time, token],
      );
      await client.query(THIN);
      return { position: head.position, token };
    });
  }

  private async isDue(client: PoolClient, position: number, keyId: string, everyMs: number): Promise<boolean> {
    const { rows } = await client.query<Row & { young: boolean }>(
      // A clock that was set back must not suspend checkpoints, so only an age from 0 to a minute is young.
      `SELECT position, token, clock_timestamp() - time BETWEEN interval '0' AND make_interval(secs => $1) AS young
         FROM cc.checkpoints ORDER BY position DESC LIMIT 1`,
      [everyMs / 1_000],
    );
    const newest = rows[0];
    if (!newest) return true;
    if (everyMs > 0) return Number(newest.position) < position && !newest.young;
    // The answer also contains the public key of the present key.
    return Number(newest.position) < position || readCheckpoint(newest.token)?.key !== keyId;
  }
}

/** The newest checkpoint; undefined if there is none or the database does not answer at once. */
export async function newestCheckpoint(pool: Pool): Promise<string | undefined> {
  const found = await readNewest(withQueryTimeout(pool, NEWEST_TIMEOUT_MS)).catch(() => undefined);
  return found?.token;
}

async function readNewest(source: Queryable): Promise<StoredCheckpoint | undefined> {
  const { rows } = await source.query<Row>('SELECT position, token FROM cc.checkpoints ORDER BY position DESC LIMIT 1');
  return rows[0] && toCheckpoint(rows[0]);
}

/** Every stored checkpoint, oldest first. */
export async function readStoredCheckpoints(source: Queryable): Promise<StoredCheckpoint[]> {
  const { rows } = await source.query<Row>('SELECT position, token FROM cc.checkpoints ORDER BY position');
  return rows.map(toCheckpoint);
}

const THIN = `
  DELETE FROM cc.checkpoints c USING (
    SELECT position, lead(date_trunc('hour', time)) OVER (ORDER BY position) = date_trunc('hour', time) AS followed
      FROM cc.checkpoints WHERE time < clock_timestamp() - interval '${THINNED_AFTER}'
                            AND time > clock_timestamp() - 2 * interval '${THINNED_AFTER}') old
   WHERE c.position = old.position AND old.followed`;

interface Row {
  position: string;
  token: string;
}

function toCheckpoint({ position, token }: Row): StoredCheckpoint {
  return { position: Number(position), token };
}
