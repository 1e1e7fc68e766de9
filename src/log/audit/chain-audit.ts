import type { ClientBase } from 'pg';
import { copyOut } from '../copy.js';
import type { Queryable } from '../event-reader.js';
import { type ChainCounts, ChainVerifier, type Removal } from './chain-verifier.js';
import { SEALED_COLUMNS, SealedRow } from './sealed-row.js';
import type { Digest, Seal } from './seals.js';

/** Seals in memory at a time. The events of a page are streamed. */
const PAGE_SEALS = 20_000;
const FIRST_POSITION = 1;

export interface ChainAudit {
  /** Called with each event, in log order. */
  event(row: SealedRow): void;
  /** It may have been stored later than it states. */
  keepsTime(row: SealedRow): boolean;
  violation(text: string): void;
  /** What retention has removed according to the events read, as far as it is signed; called after the last one. */
  removals(): readonly Removal[];
}

/** Reads the log once, in order, and recomputes its hash chain up to a position, which must be that of a seal. */
export async function auditChain(client: ClientBase, until: number, audit: ChainAudit): Promise<ChainCounts> {
  const verifier = new ChainVerifier((violation) => audit.violation(violation));
  /** When the events since the last seal were stored. */
  let storedMs: number | undefined;
  await readChain(client, until, {
    event(row, isSealed) {
      audit.event(row);
      if (isSealed && !audit.keepsTime(row)) storedMs ??= row.timeMs;
      const contradiction = row.contradiction();
      if (contradiction) audit.violation(`the event at position ${row.position} ${contradiction}`);
      if (isSealed && row.hasPersonal && !row.hasSalt)
        audit.violation(`the event at position ${row.position} has a personal part without a salt`);
      if (isSealed || row.position < FIRST_POSITION) verifier.event(row.position, row.digest());
      else {
        verifier.eventBeforeChain();
        if (row.hasSalt || row.isErased)
          audit.violation(`the event at position ${row.position} has no seal although it was appended with one`);
      }
    },
    seal(seal, removed) {
      // The chain covers the times of events, and not those of seals.
      if (storedMs !== undefined && storedMs !== seal.timeMs)
        audit.violation(`the seal at position ${seal.last} has another time than its events`);
      storedMs = undefined;
      verifier.seal(seal, removed);
    },
  });
  return verifier.finish(audit.removals());
}

export interface ChainReader {
  /** Called in log order. `isSealed`: not before the first seal of all. The row is valid during the call only. */
  event(row: SealedRow, isSealed: boolean): void;
  /** Called after the last event that the seal covers, with the digests of those that retention removed from it. */
  seal(seal: Seal, removed: ReadonlyMap<number, Digest>): void;
  /** Called after each page; reading continues when it resolves. */
  page?(): Promise<void>;
}

/** Reads events and seals together, up to a position. */
export async function readChain(
  client: ClientBase,
  until: number,
  reader: ChainReader,
  pageSeals = PAGE_SEALS,
): Promise<void> {
  let seals = await readSeals(client, 0, until, pageSeals);
  const start = seals[0]?.first ?? Number.POSITIVE_INFINITY;
  // From below the first position: a partition may have been added there.
  for (let after = Number.MIN_SAFE_INTEGER; ; ) {
    const isLast = seals.length < pageSeals;
    const end = isLast ? until : (seals.at(-1) as Seal).last;
    const removed = await readRemoved(client, after, end);
    let next = 0;
    const sealsBefore = (position: number) => {
      for (; next < seals.length && (seals[next] as Seal).last < position; next += 1) {
        const seal = seals[next] as Seal;
        reader.seal(seal, removed.get(seal.last) ?? NONE);
      }
    };
    await copySealed(client, after, end, (row) => {
      sealsBefore(row.position);
      reader.event(row, row.position >= start);
    });
    sealsBefore(Number.POSITIVE_INFINITY);
    await reader.page?.();
    if (isLast) return;
    after = end;
    seals = await readSeals(client, after, until, pageSeals);
  }
}

export interface ChainHead {
  /** Position of the last event that the head covers. */
  readonly position: number;
  readonly head: Digest;
}

/** Undefined in a log without seals. */
export async function readChainHead(source: Queryable): Promise<ChainHead | undefined> {
  const { rows } = await source.query<ChainHead>(
    `SELECT last::float8 AS position, encode(head, 'hex') AS head FROM cc.seals ORDER BY last DESC LIMIT 1`,
  );
  return rows[0];
}

/** Heads of the chain at some positions; a position without a seal is left out. */
export async function readHeadsAt(source: Queryable, positions: readonly number[]): Promise<Map<number, string>> {
  const { rows } = await source.query<{ last: string; head: string }>(
    `SELECT last, encode(head, 'hex') AS head FROM cc.seals WHERE last = ANY ($1)`,
    [positions],
  );
  return new Map(rows.map(({ last, head }) => [Number(last), head]));
}

const NONE: ReadonlyMap<number, Digest> = new Map();

async function copySealed(client: ClientBase, after: number, until: number, each: (row: SealedRow) => void) {
  const row = new SealedRow();
  const within = (table: string) => `${table}.position > ${Number(after)} AND ${table}.position <= ${Number(until)}`;
  await copyOut(
    client,
    // The bounds are stated for every table: PostgreSQL does not derive them across an outer join.
    `COPY (SELECT ${SEALED_COLUMNS} FROM cc.events e
             LEFT JOIN cc.personal p ON p.position = e.position AND ${within('p')}
             LEFT JOIN cc.erased_parts x ON x.position = e.position AND ${within('x')}
            WHERE ${within('e')} ORDER BY e.position) TO STDOUT`,
    (line) => each(row.at(line)),
  );
}

async function readSeals(client: ClientBase, after: number, until: number, limit: number): Promise<Seal[]> {
  const { rows } = await client.query<Seal>(
    `SELECT first::float8, last::float8, count, encode(digest, 'hex') AS digest, encode(head, 'hex') AS head,
            (extract(epoch FROM time) * 1000)::float8 AS "timeMs"
       FROM cc.seals WHERE last > $1 AND last <= $2 ORDER BY last LIMIT $3`,
    [after, until, limit],
  );
  return rows;
}

/** Digests of the events that retention removed from batches of which it kept others, by the last position of the batch. */
async function readRemoved(
  client: ClientBase,
  after: number,
  until: number,
): Promise<Map<number, Map<number, Digest>>> {
  const { rows } = await client.query<{ last: string; position: string; digest: Digest }>(
    `SELECT s.last, r.position, encode(r.digest, 'hex') AS digest FROM cc.removed_events r
       JOIN LATERAL (SELECT last FROM cc.seals WHERE last >= r.position ORDER BY last LIMIT 1) s ON true
      WHERE r.position > $1 AND r.position <= $2`,
    [after, until],
  );
  const bySeal = new Map<number, Map<number, Digest>>();
  for (const { last, position, digest } of rows) {
    const removed = bySeal.get(Number(last)) ?? new Map<number, Digest>();
    bySeal.set(Number(last), removed.set(Number(position), digest));
  }
  return bySeal;
}
