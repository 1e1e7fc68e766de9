import { type Client, DatabaseError, type QueryConfig } from 'pg';
import type { Postgres } from '../postgres/postgres.js';
import { type AppendPort, type BatchOutcome, BatchRefused } from './append-queue.js';
import { followLineage } from './lineage.js';

/** Longer than any batch takes, and less than half a request's deadline, so that a frozen server is tried twice. */
const STATEMENT_TIMEOUT_MS = 2_500;

/** The connection for appends: opened when first needed, dropped after any failure, reopened by the next append. */
export class AppendConnection implements AppendPort {
  private client: Promise<Client> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly onMessage: (line: string) => void = () => {},
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
        query_timeout: STATEMENT_TIMEOUT_MS + 500,
      } as QueryConfig);
      return (rows[0] as { outcome: BatchOutcome }).outcome;
    } catch (error) {
      if (isRowError(error)) throw new BatchRefused(error.message);
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
      // A plan cached while the log was empty stays in use, so it must use indexes and never scan a whole table.
      enable_seqscan: 'off',
      enable_hashjoin: 'off',
      enable_mergejoin: 'off',
      statement_timeout: `${STATEMENT_TIMEOUT_MS}ms`,
    });
    await followLineage(client, this.onMessage);
    return client;
  }

  private drop(broken: Promise<Client>): void {
    if (this.client === broken) this.client = undefined;
    // Not awaited: the server may be frozen.
    void broken.then((client) => client.end()).catch(() => {});
  }
}

/** SQLSTATE classes 21, 22 and 23: these rows cannot be stored. Other errors (server, network, lock) are transient. */
function isRowError(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && /^2[123]/.test(error.code ?? '');
}
