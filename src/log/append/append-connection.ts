import type { Client, QueryConfig } from 'pg';
import { BEGUN_WHILE_PAUSED } from '../../events/begun-while-paused.js';
import type { Postgres } from '../../postgres/postgres.js';
import { followLineage } from '../lineage.js';
import { classifyAppendError } from './append-error.js';
import { type AppendCall, type AppendPort, type BatchOutcome, BatchRefused, OutsideBounds } from './append-queue.js';
import type { AppendReadiness } from './append-readiness.js';

/** Longer than any batch takes, and less than half a request's deadline, so that a frozen server is tried twice. */
const STATEMENT_TIMEOUT_MS = 2_500;

type FoundPositions = readonly (number | null)[] | null;

/** What `cc.append` returns. */
type FunctionResult = (Omit<BatchOutcome, 'stored'> & { stored: FoundPositions }) | { readonly outside: number };

/** The connection for appends: opened when first needed, dropped after any failure, reopened by the next append. */
export class AppendConnection implements AppendPort {
  private client: Promise<Client> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly readiness: AppendReadiness,
    private readonly onMessage: (line: string) => void = () => {},
  ) {}

  async append(call: AppendCall): Promise<BatchOutcome> {
    this.client ??= this.connect();
    const connecting = this.client;
    let outcome: BatchOutcome | { readonly outside: number };
    try {
      const client = await connecting;
      const { rows } = await client.query<{ outcome: FunctionResult }>({
        name: 'append',
        text: 'SELECT cc.append($1, $2, $3, $4, $5, $6, $7, $8) AS outcome',
        values: [
          ...[call.batch, call.checked, call.noted, call.owned, iso(call.earliestMs), iso(call.latestMs), call.asOf],
          BEGUN_WHILE_PAUSED,
        ],
        query_timeout: STATEMENT_TIMEOUT_MS + 500,
      } as QueryConfig);
      const [{ outcome: result }] = rows as [{ outcome: FunctionResult }];
      outcome = 'outside' in result ? result : { ...result, stored: await withTimes(client, result.stored) };
    } catch (error) {
      const failure = classifyAppendError(error);
      if (failure !== 'unavailable') throw new BatchRefused(failure, (error as Error).message);
      this.readiness.failed(error);
      this.drop(connecting);
      throw error;
    }
    this.readiness.succeeded();
    if (!('outside' in outcome)) return outcome;
    // The clock may have stepped since it was last sampled.
    await this.postgres.sampleClock().catch(() => {});
    throw new OutsideBounds('The append arrived outside its time bounds');
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
      // Planning for each batch, to leave out partitions, would cost more than it saves: they are left out when the plan starts.
      plan_cache_mode: 'force_generic_plan',
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

/**
 * Adds the times of events that an earlier call stored. If this fails, the append is called again. The message in the
 * write-ahead log makes this statement wait for a synchronous standby, which one that writes nothing does not: after a crash the
 * events may be on the primary only.
 */
async function withTimes(client: Client, stored: FoundPositions): Promise<BatchOutcome['stored']> {
  const positions = stored?.filter((position) => position !== null);
  if (!stored || !positions?.length) return null;
  const { rows } = await client.query<{ position: number; time: number }>({
    text: `WITH written AS MATERIALIZED (SELECT pg_logical_emit_message(true, 'cc', ''))
           SELECT position::float8, (extract(epoch FROM time) * 1000)::float8 AS time
             FROM written CROSS JOIN cc.events WHERE position = ANY ($1)`,
    values: [positions],
    query_timeout: STATEMENT_TIMEOUT_MS + 500,
  } as QueryConfig);
  if (rows.length < positions.length) throw new Error('Events that were just found are missing');
  const byPosition = new Map(rows.map((row) => [row.position, row]));
  return stored.map((position) => byPosition.get(position as number) ?? null);
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}
