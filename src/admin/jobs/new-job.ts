import type { z } from 'zod';
import { storedForms } from '../../conversions/address-digest.js';
import { positionRangeOf } from '../../history/bound.js';
import { prepareReplay } from '../../history/prepare-replay.js';
import { requireValidSettings } from '../../history/shadow/run-shadow.js';
import type { ShadowRules } from '../../history/shadow/shadow-rules.js';
import type { Job, JobRequest } from '../../jobs/job.js';
import { containsEmail } from '../../kernel/email.js';
import { messageOf, UserError } from '../../kernel/errors.js';
import { dedupWindowMs } from '../../kernel/settings/settings.js';
import type { PositionRange } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import type { Site, SiteScope } from '../../sites/site.js';
import type { newJobSchema } from './jobs.schemas.js';

/** What a caller asks for. */
type NewJob = Exclude<z.output<typeof newJobSchema>, { dryRun: string }>;

/** Dedup claims of the range are held in memory, about 150 bytes each, and two jobs run at once. */
const SHADOW_EVENTS_MAX = 1_000_000;

/** Checks what a caller asks for. A replay is always a dry run here: `confirmedReplay` carries one out. */
export async function prepareJob(
  log: EventLog,
  site: Site,
  job: NewJob,
  /** Scope of the events that are exported. */
  exported: SiteScope = site,
  siteSecret = '',
): Promise<JobRequest> {
  if (job.kind === 'replay') return { kind: 'replay', ...(await prepareReplay(log, site, job)), dryRun: true };
  const range = await positionRangeOf(log, job, job.kind === 'export' ? exported : site);
  if ('table' in job) return { ...tableRequest(site, job, siteSecret), ...range };
  if (job.kind === 'export')
    return { kind: 'export', format: job.format, ...(job.types && { types: job.types }), ...range };
  return { kind: 'shadow', rules: shadowRules(site, job), ...(await requireShort(log, range)) };
}

/** Orders and events as they are stored: one that has an email address is in the request as its digest only. */
function tableRequest(site: Site, job: Extract<NewJob, { table: string }>, siteSecret: string) {
  const { kind, table, format, from: _, to: __, order, event, ...filter } = job;
  const formsOf = (text: string) => storedForms(siteSecret, text).filter((form) => !containsEmail(form));
  return {
    ...{ kind, table, format },
    filter: {
      ...filter,
      ...(order !== undefined && { order: formsOf(order) }),
      ...(event !== undefined && { event: formsOf(event) }),
    },
    connections: site.connections.map(({ platform }) => platform).sort(),
  };
}

/** The request that carries out what a dry run has counted: the same conversions, also if more were received since. */
export function confirmedReplay(dryRun: Job | undefined, site: string): JobRequest {
  const request = dryRun?.site === site && dryRun.state === 'succeeded' ? dryRun.request : undefined;
  if (request?.kind === 'replay' && request.dryRun) return { ...request, dryRun: false };
  throw new UserError(
    'A replay needs a dry run of this site that has succeeded. Start one, look at its result, and name its id.',
  );
}

function shadowRules(
  site: Site,
  { dedupWindow, botThreshold, settings: changed }: Extract<NewJob, { kind: 'shadow' }>,
): ShadowRules {
  const settings: ShadowRules['settings'] = changed ?? {};
  requireValidSettings(site, settings);
  try {
    return {
      dedupWindowMs: dedupWindow === undefined ? undefined : dedupWindowMs(dedupWindow),
      botThreshold,
      settings,
    };
  } catch (error) {
    throw new UserError(`dedupWindow: ${messageOf(error)}`);
  }
}

async function requireShort(log: EventLog, range: PositionRange): Promise<PositionRange> {
  if (!(await hasMore(log, range, SHADOW_EVENTS_MAX))) return range;
  throw new UserError(
    `The range has more than ${SHADOW_EVENTS_MAX.toLocaleString('en')} events. Give a shorter one, or use "history shadow" on the command line.`,
  );
}

/** Whether a range has more events than this. Its positions may be many more, because they leap at a failover. */
async function hasMore(log: EventLog, { after, until }: PositionRange, events: number): Promise<boolean> {
  if (until - after <= events) return false;
  const last = await log.pageEnd(after, events);
  const next = last < until ? await log.pageEnd(last, 1) : last;
  return next > last && next <= until;
}
