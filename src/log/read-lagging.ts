import type { ClientBase } from 'pg';
import type { Postgres } from '../postgres/postgres.js';
import type { LogReads } from './event-log.js';
import { findByReference, readEvents, readHead, readOpenings, readStreams } from './event-reader.js';
import { readPositionBefore } from './stored-time.js';

/** How much of the log an answer is about. */
export interface ReadUntil {
  /** Every event up to this position. */
  readonly position: number;
  /** Every event before this time. */
  readonly time: string;
}

/**
 * Reads the log where it may lag: on a standby, if there is one. The answer says as of which position. A standby that has not
 * replayed everything before the cursor is not read: the next page would miss what it lacks.
 */
export function readLagging<Result extends object>(
  postgres: Postgres,
  read: (log: LogReads, client: ClientBase) => Promise<Result>,
  cursor = 0,
): Promise<Result & { readonly asOf: ReadUntil }> {
  return postgres.readLagging(
    async (client, currentMs) => {
      const position = await readHead(client);
      const result = await read(readsOf(client, position), client);
      return { ...result, asOf: { position, time: new Date(currentMs).toISOString() } };
    },
    async (client) => cursor === 0 || (await readHead(client)) >= cursor - 1,
  );
}

/** The log as one connection reads it, up to a position. */
function readsOf(client: ClientBase, head: number): LogReads {
  return {
    read: (options) => readEvents(client, options),
    readStreams: (category, streams) => readStreams(client, category, streams),
    readOpenings: (category, streams) => readOpenings(client, category, streams),
    find: (site, reference, some) => findByReference(client, site, reference, some),
    head: async () => head,
    positionBefore: (time) => readPositionBefore(client, time),
  };
}
