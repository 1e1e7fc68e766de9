import type { Client } from 'pg';
import { UserError } from '../../kernel/errors.js';
import type { Postgres } from '../../postgres/postgres.js';
import { withConnection } from '../../postgres/with-connection.js';
import { readRemovedUntil } from '../audit/log-audit.js';
import type { Queryable } from '../event-reader.js';
import { readTimeAfter } from '../stored-time.js';

/** Advisory lock. Retention holds it alone while it decides and removes; a reader registers while it shares it. */
export const RETENTION_LOCK = 4845006;
/** First key of the advisory lock of a registered reader; the second is the `session` of its row. */
const READER_LOCK = 4845007;

/** Events that must not be removed yet. */
export interface RetentionHold {
  readonly holder: string;
  /** The holder is several things. */
  readonly isPlural?: boolean;
  /** It needs the events after this position. */
  readonly position: number;
  /** When the holder registered; absent if it is not known. */
  readonly since?: string;
  /** What an operator can do about it. */
  readonly fix: string;
}

/** Reads the holds of one kind. Those at `until` or later may be left out. */
export type HoldSource = (until: number) => Promise<readonly RetentionHold[]>;

/** The holds of all sources, the one that needs the oldest event first. */
export async function readHolds(sources: readonly HoldSource[], until: number): Promise<RetentionHold[]> {
  const holds: RetentionHold[] = [];
  for (const source of sources) holds.push(...(await source(until)).filter(({ position }) => position < until));
  return holds.sort((one, other) => one.position - other.position);
}

/** Adds the time of the oldest event that the holder needs. */
export async function describeHold(
  source: Queryable,
  { holder, isPlural, position, since }: RetentionHold,
): Promise<string> {
  const oldest = await readTimeAfter(source, position);
  const needed = oldest === undefined ? '' : `, the oldest of ${oldest.toISOString()}`;
  const registered = since === undefined ? '' : `, registered at ${since}`;
  return `${holder} ${isPlural ? 'need' : 'needs'} the events after position ${position}${needed}${registered}`;
}

/** For the log of the service: what a setting waits for. */
export async function describeWait(
  setting: string,
  source: Queryable,
  hold: RetentionHold,
  others: number,
): Promise<string> {
  const more = others === 0 ? '' : ` (${others} more holds)`;
  return `${setting} waits: ${await describeHold(source, hold)}${more}. ${hold.fix}`;
}

/** A registered reader. Its hold ends with its database session, so a reader that was killed holds nothing. */
export interface ReaderHold {
  /** Retention removed the events up to this position before the reader registered; 0 if it removed none. */
  readonly removedUntil: number;
  /** Throws if the session has ended: events may then have been removed before they were read. */
  confirm(): Promise<void>;
}

/** Runs a long read of the events after a position. Retention removes none of them until it has finished. */
export async function withReaderHold<Result>(
  postgres: Postgres,
  name: string,
  after: number,
  read: (hold: ReaderHold) => Promise<Result>,
): Promise<Result> {
  return withConnection(postgres.connect('hold'), async (client) => {
    const hold = await register(client, name, after);
    try {
      const result = await read(hold);
      await hold.confirm();
      return result;
    } finally {
      await hold.release();
    }
  });
}

async function register(client: Client, name: string, after: number): Promise<SessionHold> {
  // Waits for a removal in progress. Its result is then visible: the reader finds out which events are gone.
  await client.query(`BEGIN; SET LOCAL lock_timeout = '60s'`);
  await client.query('SELECT pg_advisory_xact_lock_shared($1)', [RETENTION_LOCK]);
  const removedUntil = await readRemovedUntil(client);
  const { rows } = await client.query<{ session: number }>(
    `INSERT INTO cc.log_holds (name, position, session) VALUES ($1, $2, nextval('cc.log_hold_session')) RETURNING session`,
    [name, Math.max(after, removedUntil)],
  );
  const { session } = rows[0] as { session: number };
  // Before the row is visible: a row without the lock is one that a killed reader left.
  await client.query('SELECT pg_advisory_lock($1, $2)', [READER_LOCK, session]);
  await client.query('COMMIT');
  return new SessionHold(client, name, session, removedUntil);
}

class SessionHold implements ReaderHold {
  constructor(
    private readonly client: Client,
    private readonly name: string,
    private readonly session: number,
    readonly removedUntil: number,
  ) {}

  async confirm(): Promise<void> {
    const found = await this.client
      .query('SELECT FROM cc.log_holds WHERE session = $1', [this.session])
      .catch(() => undefined);
    if (found?.rowCount) return;
    throw new UserError(
      `${this.name}: the database session that kept log retention from removing events has ended, so some events may ` +
        'have been removed before they were read. Run the command again.',
    );
  }

  async release(): Promise<void> {
    await this.client.query('DELETE FROM cc.log_holds WHERE session = $1', [this.session]).catch(() => {});
  }
}

/** Readers in progress. */
export function readerHolds(source: Queryable): HoldSource {
  return async () => {
    const { rows } = await source.query<{ name: string; position: string; since: Date; pid: number }>(
      `SELECT h.name, h.position, h.since, l.pid FROM cc.log_holds h JOIN pg_locks l ON l.objid = h.session::oid
        WHERE h.session <> 0 AND ${IS_READER_LOCK}`,
    );
    return rows.map(({ name, position, since, pid }) => ({
      holder: name,
      position: Number(position),
      since: since.toISOString(),
      fix: `Wait until it has finished, or end its database session with SELECT pg_terminate_backend(${pid}).`,
    }));
  };
}

/** Deletes the rows that killed readers left. */
export async function deleteEndedReaders(source: Queryable): Promise<void> {
  await source.query(
    `DELETE FROM cc.log_holds h WHERE h.session <> 0
        AND NOT EXISTS (SELECT FROM pg_locks l WHERE l.objid = h.session::oid AND ${IS_READER_LOCK})`,
  );
}

const IS_READER_LOCK = `l.locktype = 'advisory' AND l.granted AND l.classid = ${READER_LOCK} AND l.objsubid = 2
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
