import type { ReplayRequest } from '../delivery/replay-deliveries.command.js';
import type { CreatedJob } from '../events/site.events.js';
import type { ConversionFilter } from '../history/conversions/conversion-filter.js';
import type { FormatName } from '../history/export-formats.js';
import type { ShadowRules } from '../history/shadow/shadow-rules.js';
import type { Actor } from '../kernel/command.js';
import type { PositionRange } from '../log/event.js';

export const JOB_STATES = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobState = (typeof JOB_STATES)[number];

/** What a job does, with positions in place of times: the instance that continues it reads the same events. */
export type JobRequest =
  | (PositionRange & { readonly kind: 'export'; readonly format: FormatName; readonly types?: readonly string[] })
  | (PositionRange & {
      readonly kind: 'export';
      readonly format: FormatName;
      /** One row per conversion, instead of events. */
      readonly table: 'conversions';
      readonly filter: ConversionFilter;
      /** A column each. */
      readonly connections: readonly string[];
    })
  | ({ readonly kind: 'replay' } & Pick<ReplayRequest, 'platform' | 'range' | 'statuses' | 'force' | 'dryRun'>)
  | (PositionRange & { readonly kind: 'shadow'; readonly rules: ShadowRules });
export type RequestOf<Kind extends JobRequest['kind']> = Extract<JobRequest, { kind: Kind }>;

/** What the log says about a job. */
export function createdJob(jobId: string, request: JobRequest): CreatedJob {
  const { kind } = request;
  const range = kind === 'replay' ? request.range : request;
  return {
    jobId,
    kind,
    // A range from the beginning starts before the first position.
    ...('after' in range && { fromPosition: Math.max(0, range.after), toPosition: range.until }),
    ...(kind === 'replay' && { dryRun: request.dryRun }),
  };
}

export interface JobProgress {
  /** Everything up to here is done. */
  readonly position: number;
  /** Events or conversions so far. */
  readonly items: number;
  readonly perSecond: number;
}

export interface Job<Request extends JobRequest = JobRequest> {
  readonly id: string;
  readonly site: string;
  readonly actor: Actor;
  readonly request: Request;
  readonly state: JobState;
  /** How often a process has taken it since it got further. */
  readonly claims: number;
  readonly progress: JobProgress | null;
  readonly checkpoint: unknown;
  readonly result: object | null;
  readonly reason: string | null;
  readonly bytes: number;
  readonly fileUntil: Date | null;
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
}

export function isFinished({ state }: Pick<Job, 'state'>): boolean {
  return state !== 'queued' && state !== 'running';
}

/** As the API shows it. */
export function jobDocument(job: Job) {
  const { id, site, actor, request, state, progress, result, reason, bytes, fileUntil } = job;
  const { kind, ...parameters } = request;
  return {
    id,
    site,
    kind,
    state,
    actor,
    request: parameters,
    createdAt: job.createdAt.toISOString(),
    ...(job.startedAt && { startedAt: job.startedAt.toISOString() }),
    ...(job.finishedAt && { finishedAt: job.finishedAt.toISOString() }),
    ...(progress && { progress: { ...progress, done: doneShare(job, progress) } }),
    ...(result && { result }),
    // What interrupted an earlier run says nothing about this one.
    ...(reason !== null && state !== 'running' && { reason }),
    ...(fileUntil && { file: { bytes, expiresAt: fileUntil.toISOString() } }),
  };
}

/** From 0 to 1. */
function doneShare({ state, request }: Job, { position }: JobProgress): number {
  if (state === 'succeeded') return 1;
  const range = request.kind === 'replay' ? request.range : request;
  if ('conversion' in range || range.until <= range.after) return 0;
  return Math.min(1, Math.max(0, (position - range.after) / (range.until - range.after)));
}
