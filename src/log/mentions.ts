import type { ClientBase, Pool } from 'pg';
import { boundedRead } from './bounded-read.js';

/** A personal part. */
export interface Mention {
  /** In hex. */
  readonly subject: string;
  readonly data: unknown;
}

/**
 * The personal parts of a site after a position (exclusive) whose JSON contains one of the texts, also as a part of a longer one. No
 * index has them: it reads all personal parts of the log.
 */
export async function findMentions(
  pool: Pick<Pool, 'query'>,
  site: string,
  after: number,
  texts: readonly string[],
): Promise<Mention[]> {
  const { rows } = await pool.query<Mention>(
    `SELECT encode(p.subject, 'hex') AS subject, p.data FROM cc.personal p
      WHERE p.site = $1 AND p.position > $2 AND p.subject IS NOT NULL
        AND EXISTS (SELECT FROM unnest($3::text[]) AS text WHERE strpos(p.data::text, text) > 0)`,
    [site, after, texts.map((text) => JSON.stringify(text).slice(1, -1))],
  );
  return rows;
}

export interface MentionSearch {
  readonly site: string;
  /** Exclusive. */
  readonly after: number;
  /** Inclusive. */
  readonly until: number;
  /** In hex. */
  readonly subjects: readonly string[];
  readonly texts: readonly string[];
  readonly limit: number;
}

/** The newest personal parts. */
export interface NewestMentions {
  readonly positions: readonly number[];
  /** The texts were looked for in the parts after this position only. */
  readonly lookedFrom: number;
}

const LOOKING_MS = 1_000;
const WINDOW_POSITIONS = 20_000;

/**
 * Positions of the newest personal parts of a site that are about one of the subjects, or whose JSON contains one of the texts. The subjects
 * have an index. The texts have none: they are looked for in the newest parts, for a second at most.
 */
export function findNewestMentions(client: ClientBase, search: MentionSearch): Promise<NewestMentions> {
  return boundedRead(client, () => readNewest(client, search), { advice: 'Look for the order instead.' });
}

async function readNewest(client: ClientBase, search: MentionSearch): Promise<NewestMentions> {
  const { site, after, until, subjects, texts, limit } = search;
  // Materialized, because for the newest ones the planner might read all parts in the order of their positions.
  const { rows: own } = await client.query<{ position: number }>(
    `WITH found AS MATERIALIZED (
       SELECT position, site FROM cc.personal WHERE subject = ANY (SELECT decode(s, 'hex') FROM unnest($1::text[]) AS s))
     SELECT position::float8 AS position FROM found WHERE site = $2 AND position > $3 AND position <= $4
      ORDER BY found.position DESC LIMIT $5`,
    [subjects, site, after, until, limit],
  );
  const found = new Set(own.map(({ position }) => position));
  const untilMs = performance.now() + LOOKING_MS;
  let at = texts.length === 0 ? after : until;
  while (at > after && found.size < limit && performance.now() < untilMs) {
    const start = Math.max(after, at - WINDOW_POSITIONS);
    const { rows } = await client.query<{ position: number }>(
      `SELECT p.position::float8 AS position FROM cc.personal p
        WHERE p.position > $1 AND p.position <= $2 AND p.site = $3
          AND EXISTS (SELECT FROM unnest($4::text[]) AS text WHERE strpos(p.data::text, text) > 0)`,
      [start, at, site, texts.map((text) => JSON.stringify(text).slice(1, -1))],
    );
    for (const { position } of rows) found.add(position);
    at = start;
  }
  return { positions: [...found].sort((one, other) => other - one).slice(0, limit), lookedFrom: at };
}
