import { randomUUID } from 'node:crypto';
import { type ClientBase, DatabaseError, type QueryResult, type QueryResultRow } from 'pg';
import { type JobEvent, SITE } from '../events/site.events.js';
import type { Actor } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import { uuidv7 } from '../kernel/uuid.js';
import { appendingTransaction } from '../log/append/append-in-transaction.js';
import { hasEnded } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import { transaction } from '../postgres/transaction.js';
import { createdJob, type Job, type JobProgress, type JobRequest, type JobState } from './job.js';

const LEASE_MS = 20_000;
/** A job whose processes were all killed before it got further, perhaps by it, is not tried for ever. */
const CLAIMS_MAX = 3;
/** How often an export starts again after an erasure. A site whose people are erased all the time would otherwise read the log for ever. */
const RESTARTS_MAX = 5;
const ERASED = 'Personal data of the site was erased since, so its file was deleted. Start another export.';
const ERASED_TOO_OFTEN = `Personal data of the site was erased ${RESTARTS_MAX + 1} times while it ran. Start another export when the erasures are done, or export a shorter period.`;
const UNFINISHED_MAX = { site: 10, total: 50 };
const MIB = 1024 * 1024;
const KEPT = { fileHours: 24, jobDays: 7, finishedPerSite: 200 };
/** A connection that died unnoticed must not block the holder of a lease. */
const QUERY_TIMEOUT_MS = 5_000;
const UNIQUE_VIOLATION = '23505';
const WRITE_TIMEOUT_MS = 30_000;

/** The job belongs to another process now, or is finished. Nothing was written. */
export class JobLost extends Error {
  override readonly name = 'JobLost';
}

export interface Limits {
  readonly fileBytes: number;
  /** Bytes of the files of all jobs. The database keeps them, whose disk conversions need. */
  readonly totalBytes: number;
}
const LIMITS: Limits = { fileBytes: 512 * MIB, totalBytes: 1024 * MIB };

/** A row of the file: what a download holds in memory. */
const CHUNK_BYTES = MIB;

/** One process's right to run a job. */
export interface Claim {
  readonly job: Job;
  readonly holder: string;
  /** On the monotonic clock of this process: the lease began no earlier. */
  readonly requestedMs: number;
}

/** What a page of a job adds. */
export interface Page {
  /** To append to the file; may be empty. */
  readonly bytes: Uint8Array;
  readonly checkpoint: unknown;
  readonly progress: JobProgress;
}

const COLUMNS = `id, site, actor, request, state, claims, progress, checkpoint, result, reason, bytes::float8 AS bytes,
  file_until AS "fileUntil", created_at AS "createdAt", started_at AS "startedAt", finished_at AS "finishedAt"`;
/** Whether the checkpoint in the parameter is beyond the stored one. */
const GOT_FURTHER = `(($3::json ->> 'position')::bigint > coalesce((checkpoint ->> 'position')::bigint, 0))`;
const LEASE_ENDED = hasEnded('$1', '$3');

/**
 * Jobs in the database. The instance that runs one holds its lease, and every write of the holder requires it. What takes, extends and ends
 * leases has connections that no slow query holds; files and lists use the others.
 */
export class JobStore {
  constructor(
    private readonly database: Pick<Postgres, 'pool' | 'reserved' | 'clock'>,
    private readonly limits = LIMITS,
    /** How long a process that no longer renews a lease keeps its job. */
    readonly leaseMs = LEASE_MS,
  ) {}

  /**
   * The job and its event are stored together, or neither is. `dryRun`: the one that it carries out. Of many finished jobs of
   * the site the oldest are deleted, with their files.
   */
  async create(site: string, actor: Actor, request: JobRequest, dryRun?: string): Promise<Job> {
    const id = uuidv7();
    return this.recording({ id, site }, actor, async (client, record) => {
      const job = await this.insert(client, { id, site, actor, request, dryRun });
      await record({ type: 'site.job_created.v1', data: createdJob(id, request) });
      return job;
    });
  }

  private async insert(
    client: ClientBase,
    job: Pick<Job, 'id' | 'site' | 'actor' | 'request'> & { dryRun: string | undefined },
  ): Promise<Job> {
    const { id, site, actor, request, dryRun } = job;
    const query = {
      text: `WITH given_up AS (
         DELETE FROM cc.jobs WHERE id IN (
           SELECT id FROM cc.jobs WHERE site = $3 AND finished_at IS NOT NULL ORDER BY id DESC OFFSET $9))
       INSERT INTO cc.jobs (id, site, actor, request, created_at, dry_run)
       SELECT $2, $3, $4, $5, to_timestamp($1), $8
        WHERE (SELECT count(*) < $6 AND count(*) FILTER (WHERE site = $3) < $7
                 FROM cc.jobs WHERE state IN ('queued', 'running'))
       RETURNING ${COLUMNS}`,
      values: [
        ...[this.now(), id, site, actor, JSON.stringify(request), UNFINISHED_MAX.total, UNFINISHED_MAX.site],
        ...[dryRun ?? null, KEPT.finishedPerSite],
      ],
      query_timeout: QUERY_TIMEOUT_MS,
    };
    const { rows } = await client.query<Job>(query).catch((error: unknown) => {
      if (error instanceof DatabaseError && error.code === UNIQUE_VIOLATION)
        throw new UserError('This dry run was carried out already. Start another one to send again.');
      throw error;
    });
    if (!rows[0]) throw new UserError('Too many jobs wait already. Wait until some have finished, or cancel some.');
    return rows[0];
  }

  async find(id: string): Promise<Job | undefined> {
    return (await this.query<Job>(`SELECT ${COLUMNS} FROM cc.jobs WHERE id = $1`, [id])).rows[0];
  }

  /** Newest first: of some sites, or of all. */
  async list(sites: readonly string[] | 'all', before: string | undefined, limit: number): Promise<Job[]> {
    const { rows } = await this.query<Job>(
      `SELECT ${COLUMNS} FROM cc.jobs WHERE ($1::text[] IS NULL OR site = ANY ($1)) AND ($2::uuid IS NULL OR id < $2)
        ORDER BY id DESC LIMIT $3`,
      [sites === 'all' ? null : sites, before ?? null, limit],
    );
    return rows;
  }

  /** Takes the oldest job that no process runs. */
  async claim(): Promise<Claim | undefined> {
    const holder = randomUUID();
    const requestedMs = performance.now();
    const { rows } = await this.queryLease<Job>(
      `UPDATE cc.jobs SET state = 'running', holder = $2, until = to_timestamp($1) + make_interval(secs => $3),
              claims = claims + 1, started_at = coalesce(started_at, to_timestamp($1))
        WHERE id = (SELECT id FROM cc.jobs l WHERE (state = 'queued' OR state = 'running' AND ${LEASE_ENDED})
                       AND claims < $4 AND NOT cancel_requested
                     ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING ${COLUMNS}`,
      [this.now(requestedMs), holder, this.leaseMs / 1_000, CLAIMS_MAX],
    );
    return rows[0] && { job: rows[0], holder, requestedMs };
  }

  /** Extends the lease. Returns whether the job is to be cancelled. */
  async renew({ job, holder }: Claim, progress: JobProgress | undefined, requestedMs: number): Promise<boolean> {
    const { rows } = await this.queryLease<{ cancel: boolean }>(
      `UPDATE cc.jobs SET until = to_timestamp($1) + make_interval(secs => $4), progress = coalesce($5, progress)
        WHERE id = $2 AND holder = $3 AND state = 'running' RETURNING cancel_requested AS cancel`,
      [this.now(requestedMs), job.id, holder, this.leaseMs / 1_000, progress ? JSON.stringify(progress) : null],
    );
    if (!rows[0]) throw new JobLost(job.id);
    return rows[0].cancel;
  }

  /** Adds a page to the file together with the checkpoint that includes it. */
  async addPage({ job, holder }: Claim, { bytes, checkpoint, progress }: Page): Promise<void> {
    const { rows } = await this.query<{ held: boolean }>(
      `WITH held AS (
         UPDATE cc.jobs SET checkpoint = $3, progress = $4, bytes = bytes + $5,
                -- Only runs without progress count against a job: a long one may be interrupted by many deployments.
                claims = CASE WHEN ${GOT_FURTHER} THEN 1 ELSE claims END, reason = CASE WHEN NOT ${GOT_FURTHER} THEN reason END
          WHERE id = $1 AND holder = $2 AND state = 'running' AND bytes + $5 <= $6
            AND (SELECT coalesce(sum(bytes), 0) FROM cc.jobs WHERE bytes > 0) + $5 <= $7
         RETURNING id, bytes - $5 AS start),
       added AS (
         INSERT INTO cc.job_chunks (job, start, bytes)
         SELECT id, start + at, substring($8::bytea FROM (at + 1)::int FOR ${CHUNK_BYTES})
           FROM held CROSS JOIN generate_series(0, $5 - 1, ${CHUNK_BYTES}) AS at)
       SELECT EXISTS (SELECT FROM held) AS held`,
      [
        ...[job.id, holder, JSON.stringify(checkpoint), JSON.stringify(progress), bytes.length],
        ...[this.limits.fileBytes, this.limits.totalBytes, bytes],
      ],
      WRITE_TIMEOUT_MS,
    );
    if (rows[0]?.held) return;
    if (!(await this.isHolder(job.id, holder))) throw new JobLost(job.id);
    throw new UserError(
      `The file is larger than ${this.limits.fileBytes / MIB} MiB, or all files together than ${this.limits.totalBytes / MIB} MiB. ` +
        'Select fewer events, delete other files, or use "events export" on the command line.',
    );
  }

  /** Ends a job. The file of one that has not succeeded is deleted. */
  async finish(
    { job, holder }: Claim,
    state: Exclude<JobState, 'queued' | 'running'>,
    { result, reason }: { result?: object; reason?: string },
  ): Promise<void> {
    // The file of an export that was cancelled meanwhile is not wanted any more. What another job has done stays done.
    const isExported = state === 'succeeded' && job.request.kind === 'export';
    const { rowCount } = await this.queryLease(
      `UPDATE cc.jobs SET state = CASE WHEN $7 AND cancel_requested THEN 'cancelled' ELSE $4 END, holder = NULL, until = NULL,
              finished_at = to_timestamp($1), result = $5, reason = $6, checkpoint = NULL,
              file_until = CASE WHEN $7 AND NOT cancel_requested THEN to_timestamp($1) + make_interval(hours => $8) END,
              bytes = CASE WHEN $7 AND NOT cancel_requested THEN bytes ELSE 0 END
        WHERE id = $2 AND holder = $3 AND state = 'running'`,
      [
        ...[this.now(), job.id, holder, state, result ? JSON.stringify(result) : null, reason ?? null],
        ...[isExported, KEPT.fileHours],
      ],
    );
    if (!rowCount) throw new JobLost(job.id);
    await this.deleteLeftFiles();
  }

  /** Gives a job back that this process cannot finish. `reason`: it may be the job's fault, so it is not tried for ever. */
  async release({ job, holder }: Claim, reason: string | false): Promise<void> {
    await this.queryLease(
      `UPDATE cc.jobs SET state = 'queued', holder = NULL, until = NULL, reason = coalesce($3, reason),
              claims = claims - CASE WHEN $3 IS NULL THEN 1 ELSE 0 END
        WHERE id = $1 AND holder = $2 AND state = 'running'`,
      [job.id, holder, reason || null],
    );
  }

  /** Cancels a job that nothing runs at once; an instance that runs one finds out when it renews the lease. Of a finished one, deletes the file. */
  async cancel({ id, site }: Pick<Job, 'id' | 'site'>, actor: Actor): Promise<void> {
    await this.recording({ id, site }, actor, async (client, record) => {
      const query = {
        text: `UPDATE cc.jobs SET cancel_requested = true, bytes = CASE WHEN state = 'running' THEN bytes ELSE 0 END, file_until = NULL,
                state = CASE WHEN state = 'queued' THEN 'cancelled' ELSE state END,
                -- If it was never started it has sent nothing, so that its dry run can still be carried out.
                dry_run = CASE WHEN state = 'queued' AND started_at IS NULL THEN NULL ELSE dry_run END,
                finished_at = CASE WHEN state = 'queued' THEN to_timestamp($1) ELSE finished_at END
          WHERE id = $2 AND (file_until IS NOT NULL OR finished_at IS NULL AND (state = 'queued' OR NOT cancel_requested))`,
        values: [this.now(), id],
        query_timeout: QUERY_TIMEOUT_MS,
      };
      const { rowCount } = await client.query(query);
      if (rowCount) await record({ type: 'site.job_cancelled.v1', data: { jobId: id } });
    });
    await this.deleteLeftFiles();
  }

  /**
   * Deletes the files of a site's exports, which may have what was just erased from the log. An export that runs may have read it
   * before, so it starts again, unless it has often done so.
   */
  async deleteExports(site: string): Promise<void> {
    await transaction(this.database.pool, async (client) => {
      const { rows } = await client.query<{ id: string }>(
        `UPDATE cc.jobs SET bytes = 0, file_until = NULL, checkpoint = NULL, holder = NULL, until = NULL,
                state = CASE WHEN finished_at IS NOT NULL THEN state WHEN restarts < $3 THEN 'queued' ELSE 'failed' END,
                finished_at = CASE WHEN finished_at IS NULL AND restarts >= $3 THEN to_timestamp($4) ELSE finished_at END,
                restarts = restarts + 1,
                claims = CASE WHEN finished_at IS NULL THEN 0 ELSE claims END,
                progress = CASE WHEN finished_at IS NULL THEN NULL ELSE progress END,
                reason = CASE WHEN finished_at IS NOT NULL THEN $2 WHEN restarts < $3 THEN reason ELSE $5 END
          WHERE site = $1 AND request ->> 'kind' = 'export' AND (bytes > 0 OR state = 'running') RETURNING id`,
        [site, ERASED, RESTARTS_MAX, this.now(), ERASED_TOO_OFTEN],
      );
      // A statement of its own: it also sees what a page added that the one above has waited for.
      await client.query('DELETE FROM cc.job_chunks WHERE job = ANY ($1)', [rows.map(({ id }) => id)]);
    });
  }

  /** Ends jobs that no process will end, and deletes what is kept no longer. */
  async clean(): Promise<void> {
    const now = this.now();
    await this.query(
      `UPDATE cc.jobs l SET state = CASE WHEN cancel_requested THEN 'cancelled' ELSE 'failed' END, holder = NULL, until = NULL,
              finished_at = to_timestamp($1), bytes = 0, checkpoint = NULL,
              reason = CASE WHEN NOT cancel_requested THEN concat_ws(' ', 'It was interrupted ' || claims || ' times without getting further.', reason) END
        WHERE (state = 'queued' OR state = 'running' AND ${LEASE_ENDED}) AND (cancel_requested OR claims >= $2)`,
      [now, CLAIMS_MAX, this.leaseMs / 1_000],
    );
    await this.query('UPDATE cc.jobs SET file_until = NULL, bytes = 0 WHERE file_until < to_timestamp($1)', [now]);
    await this.query('DELETE FROM cc.jobs WHERE finished_at < to_timestamp($1) - make_interval(days => $2)', [
      now,
      KEPT.jobDays,
    ]);
    await this.deleteLeftFiles();
  }

  /** The chunk that has this byte of a file. */
  async chunkAt(id: string, offset: number): Promise<{ start: number; bytes: Buffer } | undefined> {
    const { rows } = await this.query<{ start: number; bytes: Buffer }>(
      `SELECT start::float8 AS start, bytes FROM cc.job_chunks WHERE job = $1 AND start <= $2 ORDER BY start DESC LIMIT 1`,
      [id, offset],
    );
    return rows[0];
  }

  /**
   * Changes a job and records it, in a stream of its own: in that of the site each request would read it, and a change of the site
   * could fail because of it.
   */
  private recording<Result>(
    { id, site }: Pick<Job, 'id' | 'site'>,
    actor: Actor,
    work: (client: ClientBase, record: (event: JobEvent) => Promise<unknown>) => Promise<Result>,
  ): Promise<Result> {
    const of = { category: SITE, stream: id, expected: 'any', site, actor } as const;
    return appendingTransaction(this.database, (client, append) =>
      work(client, (event) => append({ ...of, events: [event] })),
    );
  }

  private async isHolder(id: string, holder: string): Promise<boolean> {
    const held = `SELECT FROM cc.jobs WHERE id = $1 AND holder = $2 AND state = 'running'`;
    return ((await this.query(held, [id, holder])).rowCount ?? 0) > 0;
  }

  private async deleteLeftFiles(): Promise<void> {
    await this.query(
      `DELETE FROM cc.job_chunks USING cc.jobs j
        WHERE job = j.id AND j.file_until IS NULL AND j.state IN ('succeeded', 'failed', 'cancelled')`,
    );
  }

  /** In seconds, by the trusted time of the clock. */
  private now(monotonicMs = performance.now()): number {
    return this.database.clock.at(monotonicMs) / 1_000;
  }

  private query<Row extends QueryResultRow>(
    text: string,
    values: unknown[] = [],
    timeoutMs = QUERY_TIMEOUT_MS,
  ): Promise<QueryResult<Row>> {
    return this.database.pool.query<Row>({ text, values, query_timeout: timeoutMs });
  }

  private queryLease<Row extends QueryResultRow>(text: string, values: unknown[]): Promise<QueryResult<Row>> {
    return this.database.reserved.query<Row>({ text, values, query_timeout: QUERY_TIMEOUT_MS });
  }
}
