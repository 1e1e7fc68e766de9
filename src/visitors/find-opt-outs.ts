import type { Pool, QueryConfig } from 'pg';
import type { FindChanges, FindOptOuts } from '../delivery/decided.js';
import { findErased } from '../log/erased-positions.js';
import { decideConsent, type StoredStatement } from './consent.js';

const TIMEOUT_MS = 2_000;

interface Row {
  readonly subject: string;
  readonly statements: readonly StoredStatement[];
}

/**
 * Reads who of the people has opted out, or is undecided on a page that denies by default. That of a person depends on the
 * operator's statement, the newest denial and the newest statement only, so no number of other statements makes it slow.
 */
export function findOptOuts({ pool }: { readonly pool: Pick<Pool, 'query'> }): FindOptOuts {
  return async (site, subjects) => {
    const { rows } = await pool.query<Row>({
      text: `SELECT q.subject, made.statements FROM unnest($2::text[]) AS q (subject) CROSS JOIN LATERAL (
               SELECT json_agg(json_build_array(encode(visitor, 'hex'), position, state)) AS statements
                 FROM ((SELECT visitor, position, state FROM cc.consent
                         WHERE site = $1 AND subject = decode(q.subject, 'hex') AND (denies OR visitor = '\\x00')
                         ORDER BY visitor = '\\x00' DESC, position DESC LIMIT 2)
                       UNION ALL
                       (SELECT visitor, position, state FROM cc.consent
                         WHERE site = $1 AND subject = decode(q.subject, 'hex')
                         ORDER BY position DESC LIMIT 1)) newest) made
              WHERE made.statements IS NOT NULL`,
      values: [site, subjects],
      query_timeout: TIMEOUT_MS,
    } as QueryConfig);
    const optedOut = rows.filter(({ statements }) => decideConsent(statements, [], false).withheld !== undefined);
    return new Set(optedOut.map(({ subject }) => subject));
  };
}

const NONE: ReadonlySet<string> = new Set();

/** What a delivery asks before a request, if the conversion was decided some time ago. */
export function findChanges(postgres: { readonly pool: Pick<Pool, 'query'> }): FindChanges {
  const optOuts = findOptOuts(postgres);
  return async (site, subjects, positions) => {
    const [optedOut, erased] = await Promise.all([
      subjects.length > 0 ? optOuts(site, subjects) : NONE,
      findErased(postgres.pool, positions),
    ]);
    return { optedOut, erased };
  };
}
