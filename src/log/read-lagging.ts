import type { ClientBase } from 'pg';
import type { Postgres } from '../postgres/postgres.js';
import type { EventsOf, StoredEvent, StreamEvent } from './event.js';
import type { LogReads } from './event-log.js';
import {
  findByReference,
  findSomeByReference,
  type ReadOptions,
  readEvents,
  readHead,
  readOpenings,
  readStreams,
  type SomeOptions,
} from './event-reader.js';
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
      const result = await read(new ClientLogReads(client, position), client);
      return { ...result, asOf: { position, time: new Date(currentMs).toISOString() } };
    },
    async (client) => cursor === 0 || (await readHead(client)) >= cursor - 1,
  );
}

/** The log as one connection reads it. */
class ClientLogReads implements LogReads {
  constructor(
    private readonly client: ClientBase,
    private readonly until: number,
  ) {}

  read<Type extends string = string>(options: ReadOptions<Type> = {}): Promise<EventsOf<Type>[]> {
    return readEvents(this.client, options);
  }

  readStreams<Category extends string>(
    category: Category,
    streams: readonly string[],
  ): Promise<StreamEvent<Category>[]> {
    return readStreams(this.client, category, streams);
  }

  readOpenings<Category extends string>(
    category: Category,
    streams: readonly string[],
  ): Promise<StreamEvent<Category>[]> {
    return readOpenings(this.client, category, streams);
  }

  find(site: string, reference: string, some?: SomeOptions): Promise<StoredEvent[]> {
    const { client } = this;
    return some ? findSomeByReference(client, site, reference, some) : findByReference(client, site, reference);
  }

  async head(): Promise<number> {
    return this.until;
  }

  positionBefore(time: Date, site?: string): Promise<number> {
    return readPositionBefore(this.client, time, site);
  }
}
