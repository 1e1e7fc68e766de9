import { type Client, DatabaseError, type QueryConfig } from 'pg';
import type { Postgres } from '../postgres/postgres.js';
import { type AppendPort, type BatchOutcome, BatchRefused } from './append-queue.js';
import { followLineage } from './lineage.js';

/** Longer than any batch takes, shorter than a request's patience, so that a frozen server is asked twice. */
const ANSWER_WITHIN_MS = 2_500;

/** The writer's own connection: made when first needed, dropped after any failure, made again at the next append. */
export class AppendConnection implements AppendPort {
  private client: Promise<Client> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly say: (line: string) => void = () => {},
  ) {}

  async append(batch: string, checked: boolean, noted: boolean): Promise<BatchOutcome> {
    this.client ??= this.connect();
    const connecting = this.client;
    try {
      const client = await connecting;
      const { rows } = await client.query<{ outcome: BatchOutcome }>({
        name: 'append',
        text: 'SELECT cc.append($1, $2, $3) AS outcome',
        values: [batch, checked, noted],
        query_timeout: ANSWER_WITHIN_MS + 500,
      } as QueryConfig);
      return (rows[0] as { outcome: BatchOutcome }).outcome;
    } catch (error) {
      if (isAboutTheRows(error)) throw new BatchRefused(error.message);
      this.drop(connecting);
      throw error;
    }
  }

  async close(): Promise<void> {
    await this.client?.then((client) => client.end()).catch(() => {});
    this.client = undefined;
  }

  private async connect(): Promise<Client> {
    const client = await this.postgres.connect('append', {
      // A plan made while the log was empty is kept: it must look claims up one by one, never read a whole table.
      enable_seqscan: 'off',
      enable_hashjoin: 'off',
      enable_mergejoin: 'off',
      statement_timeout: `${ANSWER_WITHIN_MS}ms`,
    });
    await followLineage(client, this.say);
    return client;
  }

  private drop(broken: Promise<Client>): void {
    if (this.client === broken) this.client = undefined;
    // Ended without waiting: the server at the other end may be frozen.
    void broken.then((client) => client.end()).catch(() => {});
  }
}

/** Classes 21, 22, 23: these rows cannot be stored. Everything else may pass: the server, the network, a lock. */
function isAboutTheRows(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && /^2[123]/.test(error.code ?? '');
}
