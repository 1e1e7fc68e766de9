import type { Pool } from 'pg';
import type { FindChanges } from '../delivery/decided.js';
import { findErased } from '../log/erased-positions.js';
import { findOptOuts } from './find-opt-outs.js';

const NONE: ReadonlySet<string> = new Set();

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
