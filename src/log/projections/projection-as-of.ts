import type { Client } from 'pg';
import type { Postgres } from '../../postgres/postgres.js';
import { readHead } from '../event-reader.js';
import { withReaderHold } from '../retention/retention-holds.js';
import { foldIntoTempTables } from './fold-into-temp-tables.js';
import type { Projection } from './projection.js';
import { inTransaction } from './projection-rebuild.js';

const ROWS_AT_ONCE = 1_000;

/** A projection as of a position, folded by its own code into temporary tables. */
export class ProjectionAsOf {
  private constructor(
    private readonly client: Client,
    private readonly projection: Projection,
  ) {}

  static async fold(
    postgres: Postgres,
    projection: Projection,
    until: number,
    progress: (position: number) => void = () => {},
  ): Promise<ProjectionAsOf> {
    const client = await postgres.connectAsOwner('as-of');
    try {
      await client.query(`SET timezone = 'UTC'`);
      await withReaderHold(postgres, `fold of the projection ${projection.name}`, 0, async () => {
        const last = Math.min(until, await readHead(client));
        await inTransaction(client, () => foldIntoTempTables(client, projection, last, progress));
      });
      return new ProjectionAsOf(client, projection);
    } catch (error) {
      await client.end();
      throw error;
    }
  }

  /** Its rows as JSON, in batches and in a stable order. With several tables each row names its table. */
  async *rows(): AsyncGenerator<string[]> {
    for (const table of this.projection.tables) {
      const named = this.projection.tables.length > 1 ? `'${table}' AS "table", ` : '';
      await this.client.query(
        `BEGIN; DECLARE rows CURSOR FOR
           SELECT row_to_json(r)::text AS row FROM (SELECT ${named}t.* FROM pg_temp.${table} t) r ORDER BY 1`,
      );
      for (;;) {
        const { rows } = await this.client.query<{ row: string }>(`FETCH ${ROWS_AT_ONCE} FROM rows`);
        if (rows.length === 0) break;
        yield rows.map(({ row }) => row);
      }
      await this.client.query('COMMIT');
    }
  }

  async end(): Promise<void> {
    await this.client.end();
  }
}
