import type { Pool } from 'pg';

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
