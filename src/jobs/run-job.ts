import { type ReplayCounts, ReplayDeliveries } from '../delivery/replay-deliveries.command.js';
import { ReplayDeliveriesHandler } from '../delivery/replay-deliveries.handler.js';
import { SITE, streamIdOf } from '../events/site.events.js';
import { exportConversions, type TableProgress } from '../history/conversions/conversion-table.js';
import { EventFilter } from '../history/event-filter.js';
import type { ExportProgress } from '../history/export-file.js';
import { runExport } from '../history/run-export.js';
import { runShadow } from '../history/shadow/run-shadow.js';
import { UserError } from '../kernel/errors.js';
import type { Settings } from '../kernel/settings/settings.js';
import type { PositionRange, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { type ReaderHold, withReaderHold } from '../log/retention/retention-holds.js';
import type { Postgres } from '../postgres/postgres.js';
import { connectionOf } from '../sites/connections/named-connection.js';
import type { SiteRepository } from '../sites/site-repository.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import type { Job, RequestOf } from './job.js';
import type { Checkpoint, JobRun } from './job-run.js';

export interface JobDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
}

/** Smaller than on the command line: the service does other work in the same memory. Parquet compresses larger pages better. */
const PAGE_LIMITS = {
  ndjson: { events: 1_000, bytes: 4e6 },
  csv: { events: 1_000, bytes: 4e6 },
  parquet: { events: 5_000, bytes: 4e6 },
};

/** Carries out a job as the command line does. */
export function runJob(dependencies: JobDependencies, job: Job, run: JobRun): Promise<object> {
  switch (job.request.kind) {
    case 'export':
      return 'table' in job.request
        ? exportTable(dependencies, job as Job<TableRequest>, run)
        : exportJob(dependencies, job as Job<EventsRequest>, run);
    case 'replay':
      return replayJob(dependencies, job as Job<RequestOf<'replay'>>, run);
    case 'shadow':
      return shadowJob(dependencies, job as Job<RequestOf<'shadow'>>, run);
  }
}

type TableRequest = Extract<RequestOf<'export'>, { table: string }>;
type EventsRequest = Exclude<RequestOf<'export'>, { table: string }>;

/** Continues after the last stored page. Each row is as the conversion was when its page was made. */
async function exportTable(
  { postgres, log }: JobDependencies,
  { site, request, checkpoint }: Job<TableRequest>,
  run: JobRun,
) {
  const { format, filter, connections, after, until } = request;
  const resumeFrom = (checkpoint as TableProgress | null) ?? undefined;
  return withReaderHold(postgres, 'events export', resumeFrom?.position ?? after, async (hold) => {
    const removed = resumeFrom ? {} : removedPart(request, hold);
    const conversions = await exportConversions(log, {
      ...{ site, format, filter, connections, resumeFrom, range: { after, until } },
      write: (bytes, reached) => run.save(bytes, reached),
      progress: () => run.check(),
    });
    return { format, conversions, ...removed };
  });
}

/** Continues after the last stored page. */
async function exportJob(
  dependencies: JobDependencies,
  { site, request, checkpoint }: Job<EventsRequest>,
  run: JobRun,
) {
  const { format, types, after, until } = request;
  const filter = await EventFilter.open(dependencies, {
    site,
    from: { position: after + 1 },
    to: { position: until + 1 },
    ...(types && { type: [...types] }),
  });
  const resumeFrom = (checkpoint as Omit<ExportProgress, 'bytes'> | null) ?? undefined;
  let removed = {};
  const events = await runExport(dependencies.postgres, filter, {
    format,
    resumeFrom,
    pageLimits: PAGE_LIMITS[format],
    signal: run.signal,
    onHold: (hold) => {
      if (resumeFrom && hold.removedUntil > resumeFrom.position)
        throw new UserError('LOG_RETENTION has removed events that the export had not reached. Start it again.');
      if (!resumeFrom) removed = removedPart(request, hold);
    },
    write: (bytes, reached) => run.save(bytes, reached()),
    progress: () => run.check(),
  });
  return { format, events, ...removed };
}

/** Continues after the last stored position. Conversions that were examined after it are counted again. */
async function replayJob(
  { log, sites, postgres }: JobDependencies,
  { site: host, actor, request, checkpoint }: Job<RequestOf<'replay'>>,
  run: JobRun,
) {
  const site = await sites.get(host);
  connectionOf(site, request.platform);
  const earlier = checkpoint as ReplayCheckpoint | null;
  if (request.force && !request.dryRun) await startForced(run, earlier);
  const range =
    earlier && !('conversion' in request.range) ? { ...request.range, after: earlier.position } : request.range;
  const command = new ReplayDeliveries(actor, {
    ...request,
    site: host,
    range,
    siteVersion: ((await log.readStream(SITE, streamIdOf(site.host))).at(-1) as StoredEvent).version,
    nowMs: postgres.clock.nowMs(),
  });
  let savedMs = performance.now();
  const after = 'conversion' in range ? 0 : range.after;
  return withReaderHold(postgres, 'replay deliveries', after, async (hold) => {
    const removed = 'conversion' in request.range || earlier ? {} : removedPart(request.range, hold);
    const counts = await new ReplayDeliveriesHandler(log).execute(command, {
      notAfterMs: () => run.notAfterMs,
      onProgress: async (examined, position, counts) => {
        const items = examined + (earlier?.events ?? 0);
        run.report(position, items);
        if (performance.now() - savedMs < SAVE_EVERY_MS) return;
        savedMs = performance.now();
        const reached: ReplayCheckpoint = { position, events: items, counts: sumOf(earlier?.counts, counts) };
        await run.save(NO_BYTES, reached);
      },
    });
    return { ...sumOf(earlier?.counts, counts), dryRun: request.dryRun, ...removed };
  });
}

const SAVE_EVERY_MS = 1_000;
const NO_BYTES = new Uint8Array();

/** A forced delivery counts at the platform each time, so it is not repeated after a run that may have requested it. */
async function startForced(run: JobRun, earlier: ReplayCheckpoint | null): Promise<void> {
  if (earlier)
    throw new UserError(
      'It was interrupted and may have requested the delivery. The events of the conversion show it.',
    );
  const started: ReplayCheckpoint = { position: 0, events: 0, counts: { requested: 0, byStatus: {} } };
  await run.save(NO_BYTES, started);
}

interface ReplayCheckpoint extends Checkpoint {
  readonly counts: ReplayCounts;
}

function sumOf(one: ReplayCounts | undefined, other: ReplayCounts): ReplayCounts {
  const byStatus = { ...one?.byStatus };
  for (const [status, count] of Object.entries(other.byStatus)) byStatus[status] = (byStatus[status] ?? 0) + count;
  return { requested: (one?.requested ?? 0) + other.requested, byStatus };
}

/** Changes nothing, so it starts at the beginning. */
async function shadowJob(
  dependencies: JobDependencies,
  { site: host, request }: Job<RequestOf<'shadow'>>,
  run: JobRun,
) {
  let removed = {};
  const result = await runShadow(dependencies, await dependencies.sites.get(host), request, request.rules, {
    signal: run.signal,
    onHold: (hold) => {
      removed = removedPart(request, hold);
    },
    progress: (conversions, position) => run.report(position, conversions),
  });
  return { ...result, ...removed };
}

/** States that a selected part of the log is gone, so that its absence is not taken for a lack of events. */
function removedPart({ after, until }: PositionRange, { removedUntil }: Pick<ReaderHold, 'removedUntil'>) {
  return removedUntil > after && until > after ? { removedUntil } : {};
}
