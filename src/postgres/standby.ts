import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase, type ClientConfig, Pool, type PoolClient } from 'pg';
import { formatDuration } from '../kernel/durations.js';
import { messageOf } from '../kernel/errors.js';
import type { DatabaseClock } from './database-clock.js';
import { closeSocket } from './database-hosts.js';
import { LINEAGE, STORED_LINEAGE } from './lineage.js';
import { isDatabaseOutage, isPoolBusy, isRecoveryConflict } from './outage.js';

/** So long a read waits for the standby to have everything that the primary has: as a rule it has it within milliseconds. */
const CURRENT_WITHIN_MS = 250;
const POLL_EVERY_MS = 10;
const CONNECT_WITHIN_MS = 3_000;
const CHECK_TIMEOUT_MS = 3_000;
const QUERY_TIMEOUT_MS = 10_000;
/** Timeout on a connection for reading much: one page of an export may have to pass over many events. */
const LONG_QUERY_TIMEOUT_MS = 60_000;
/** A standby that could not be used is left alone for so long: reads must not wait for it one after the other. */
const LEFT_ALONE_MS = 5_000;
/** The time of a commit may be so far ahead of the clock: it is of the clock that the primary had then. */
const AHEAD_MAX_MS = 5_000;
const SQLSTATE = /^[0-9A-Z]{5}$/;

interface StandbyOptions {
  readonly config: ClientConfig;
  readonly connections: number;
  /** A standby that is further behind is not read. */
  readonly maxLagMs: number;
  readonly primary: Pool;
  readonly clock: DatabaseClock;
  readonly onMessage: (line: string) => void;
}

/** Everything that was stored by this time, of the database's clock, is read. */
type CurrentMs = number;

/** What the primary has stored. */
interface Target {
  readonly lsn: string;
  readonly lineage: string;
  readonly ms: CurrentMs;
}

interface State {
  readonly reached: boolean;
  readonly lineage: string;
  readonly replayed: number | null;
}

/**
 * A standby that answers reads which may lag. Before each read it is compared with the primary, on the connection that reads: behind
 * a proxy each connection may lead to another server. What the primary had stored before the read is waited for, so that as a rule
 * nothing is missing; a standby that is further behind is read up to a bound.
 */
export class Standby {
  private readonly pool: Pool;
  private readonly dedicated = new WeakSet<Client>();
  private leftAloneUntilMs = Number.NEGATIVE_INFINITY;
  /** Why the primary was read the last time; undefined if the standby was. */
  refusal: string | undefined;

  constructor(private readonly options: StandbyOptions) {
    const { config, connections } = options;
    this.pool = new Pool({
      ...{ ...config, query_timeout: QUERY_TIMEOUT_MS, max: connections },
      connectionTimeoutMillis: CONNECT_WITHIN_MS,
    });
    // The next query reports a broken connection; without listeners the event would end the process.
    this.pool.on('error', () => {});
    this.pool.on('connect', (client) => client.on('error', () => {}));
  }

  /** Undefined if the primary must be read instead. */
  async read<Result>(
    read: (client: ClientBase, currentMs: CurrentMs) => Promise<Result>,
    hasAll: (client: ClientBase) => Promise<boolean>,
  ): Promise<{ readonly result: Result } | undefined> {
    const found = await this.usable((target) => this.borrow(target));
    if (!found) return undefined;
    const { client, currentMs } = found;
    try {
      const answer = (await hasAll(client)) ? { result: await read(client, currentMs) } : undefined;
      client.release();
      return answer;
    } catch (error) {
      // Closed instead of reused: a transaction may still be open on it.
      client.release(true);
      if (isOfStandby(error)) this.refuse(error);
      // Also other errors of the server: it may not have replayed a migration yet. The primary reports its own.
      else if (!SQLSTATE.test(String((error as { code?: unknown }).code))) throw error;
      return undefined;
    }
  }

  /** A connection of its own, once everything is there that the primary has now. Undefined if the primary must be read instead. */
  async connect(): Promise<Client | undefined> {
    return this.usable(async (target) => {
      const limits = { query_timeout: LONG_QUERY_TIMEOUT_MS, keepAlive: true };
      const client = new Client({ ...this.options.config, ...limits, connectionTimeoutMillis: CONNECT_WITHIN_MS });
      client.on('error', () => {});
      try {
        await client.connect();
        const state = await this.waitFor(target, client, this.options.maxLagMs);
        // Never judged by time: a file must be complete.
        if (!state.reached) throw behind(state, this.options.clock.nowMs());
        this.dedicated.add(client);
        return client;
      } catch (error) {
        closeSocket(client);
        throw error;
      }
    });
  }

  /** After an error of a read with such a connection: if the standby may be the cause, the next one uses the primary. */
  failed(client: Client, error: unknown): void {
    if (this.dedicated.has(client) && isOfStandby(error)) this.refuse(error);
  }

  /** Throws if reads must use the primary. Returns how far the standby is behind. */
  async check(): Promise<number> {
    const { client, currentMs } = await this.borrow(await this.readTarget());
    client.release();
    return Math.max(0, this.options.clock.nowMs() - currentMs);
  }

  async close(): Promise<void> {
    await this.pool.end();
  }

  /** Whatever keeps it from being used, the primary is read. */
  private async usable<Result>(use: (target: Target) => Promise<Result>): Promise<Result | undefined> {
    if (performance.now() < this.leftAloneUntilMs) return undefined;
    const target = await this.readTarget();
    try {
      const result = await use(target);
      if (this.refusal !== undefined) this.options.onMessage('Reads that may lag use the standby again.');
      this.refusal = undefined;
      return result;
    } catch (error) {
      // With all connections in use the standby works: only this read uses the primary.
      if (!isPoolBusy(error)) this.refuse(error);
      return undefined;
    }
  }

  private refuse(error: unknown): void {
    const reason = messageOf(error);
    if (this.refusal === undefined) this.options.onMessage(`Reads that may lag use the primary: ${reason}.`);
    this.refusal = reason;
    this.leftAloneUntilMs = performance.now() + LEFT_ALONE_MS;
  }

  private async borrow(target: Target): Promise<{ readonly client: PoolClient; readonly currentMs: CurrentMs }> {
    const client = await this.pool.connect();
    try {
      const { maxLagMs, clock } = this.options;
      const state = await this.waitFor(target, client, CURRENT_WITHIN_MS);
      return { client, currentMs: state.reached ? target.ms : lagging(state, target.ms, clock.nowMs(), maxLagMs) };
    } catch (error) {
      // Closed instead of reused: it may not answer any more, or a proxy leads the next one to another server.
      client.release(true);
      throw error;
    }
  }

  private async readTarget(): Promise<Target> {
    const { primary, clock } = this.options;
    const ms = clock.nowMs();
    const { rows } = await primary.query<Omit<Target, 'ms'>>(
      `SELECT pg_current_wal_flush_lsn() AS lsn, ${LINEAGE} AS lineage`,
    );
    return { ...(rows[0] as Omit<Target, 'ms'>), ms };
  }

  /** Waits for so long until the standby has what the primary had. */
  private async waitFor(target: Target, client: ClientBase, waitMs: number): Promise<State> {
    const untilMs = performance.now() + waitMs;
    for (;;) {
      const state = await readState(client, target.lsn);
      if (state.lineage !== target.lineage) throw new Error('the standby does not replicate from the primary');
      if (state.reached || performance.now() >= untilMs) return state;
      await sleep(POLL_EVERY_MS);
    }
  }
}

function lagging(state: State, targetMs: CurrentMs, nowMs: number, maxLagMs: number): CurrentMs {
  const { replayed } = state;
  if (replayed === null || nowMs - replayed > maxLagMs || replayed - nowMs > AHEAD_MAX_MS) throw behind(state, nowMs);
  return Math.min(replayed, targetMs);
}

/** A clock that was ahead has left times from which no lag can be told. */
function behind({ replayed }: State, nowMs: number): Error {
  const lagMs = replayed === null ? Number.NEGATIVE_INFINITY : nowMs - replayed;
  const lag = lagMs < 0 ? 'an unknown time' : formatDuration(Math.ceil(lagMs / 1_000) * 1_000);
  return new Error(`the standby is ${lag} behind`);
}

/**
 * A standby cannot tell its timeline: the lineage that the primary has stored is compared, and that it is the same system, because a
 * logical replica has a copy of what is stored. A server that was promoted has a timeline of its own.
 */
async function readState(client: ClientBase, lsn: string): Promise<State> {
  const { rows } = await client.query<State>({
    text: `SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_flush_lsn() END >= $1 AS reached,
                  CASE WHEN pg_is_in_recovery() THEN ${STORED_LINEAGE} ELSE ${LINEAGE} END AS lineage,
                  extract(epoch FROM pg_last_xact_replay_timestamp())::float8 * 1000 AS replayed
             FROM cc.lineage WHERE system = (SELECT system_identifier FROM pg_control_system())`,
    values: [lsn],
    query_timeout: CHECK_TIMEOUT_MS,
  });
  return rows[0] ?? { reached: false, lineage: '', replayed: null };
}

/** An error that the primary would not have: it is asked instead. */
function isOfStandby(error: unknown): boolean {
  return isRecoveryConflict(error) || isDatabaseOutage(error);
}
