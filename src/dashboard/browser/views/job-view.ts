import type { Schemas } from '../api.js';
import { connectionTitle, counted, formatNumber, type Tone } from '../format.js';
import { auditDetail } from './audit-view.js';
import { differenceText, isShadowResult } from './shadow-view.js';

export type Job = Schemas['Job'];

const STATE_TONES: Readonly<Record<Job['state'], Tone>> = {
  queued: 'wait',
  running: 'wait',
  succeeded: 'ok',
  failed: 'bad',
  cancelled: 'plain',
};

export function jobTone({ state }: Pick<Job, 'state'>): Tone {
  return STATE_TONES[state];
}

export function isActive({ state }: Pick<Job, 'state'>): boolean {
  return state === 'queued' || state === 'running';
}

/** A dry run counts what would be sent; the same job without it sends. */
export function isDryRun({ kind, request }: Pick<Job, 'kind' | 'request'>): boolean {
  return kind === 'replay' && request['dryRun'] === true;
}

export function jobTitle(job: Pick<Job, 'kind' | 'request'>): string {
  const { kind, request } = job;
  if (kind === 'export')
    return `Export${request['table'] === undefined ? '' : ` of ${String(request['table'])}`} as ${String(request['format'])}`;
  if (kind === 'shadow') return 'Shadow replay';
  return `${isDryRun(job) ? 'Dry run of a replay' : 'Replay'} to ${connectionTitle(String(request['platform']))}`;
}

/** What a job found or why it failed. */
export function jobOutcome({ reason, result, progress }: Pick<Job, 'reason' | 'result' | 'progress'>): string {
  if (reason !== undefined) return reason;
  if (isShadowResult(result)) return differenceText(result);
  if (isReplayResult(result)) return replayText(result);
  if (typeof result?.['events'] === 'number') return counted(result['events'], 'event');
  if (typeof result?.['conversions'] === 'number' && 'format' in result)
    return counted(result['conversions'], 'conversion');
  if (result) return auditDetail(result);
  return progress ? `${formatNumber(progress.items)} so far` : '';
}

interface ReplayResult {
  readonly requested: number;
  readonly byStatus: Readonly<Record<string, number>>;
  readonly dryRun: boolean;
}

function isReplayResult(result: unknown): result is ReplayResult {
  return typeof result === 'object' && result !== null && 'requested' in result && 'byStatus' in result;
}

/** "2 deliveries would be sent, of 3 failed, 40 queued". */
function replayText({ requested, byStatus, dryRun }: ReplayResult): string {
  const found = Object.entries(byStatus).map(([status, count]) => `${formatNumber(count)} ${status}`);
  const sent = `${counted(requested, 'delivery', 'deliveries')} ${dryRun ? 'would be sent' : 'sent again'}`;
  return found.length === 0 ? sent : `${sent}, of ${found.join(', ')}`;
}

/** Whether a dry run found deliveries that can be sent now. */
export function hasSomethingToSend(job: Pick<Job, 'kind' | 'request' | 'state' | 'result'>): boolean {
  return job.state === 'succeeded' && isDryRun(job) && isReplayResult(job.result) && job.result.requested > 0;
}
