import type { Schemas } from '../api.js';
import { counted, formatShare, type Tone } from '../format.js';

type Projection = Schemas['Projection'];

/** What each is read for: names alone say little. */
const PURPOSES: Readonly<Record<string, string>> = {
  auth_failures: 'failed authentication per site',
  consent: 'what visitors have consented to',
  dedup: 'which conversions are duplicates',
  deliveries: 'what each platform was sent',
  identifiers: 'click ids and campaigns of persons',
  key_usage: 'when keys were last used',
  source_deliveries: 'the newest deliveries of sources',
  match_rate: 'how many conversions were matched',
  sites: 'sites and their settings',
  statistics: 'the figures of the dashboard',
  totals: 'the totals of the webhooks',
  unmatched: 'conversions that a later visit may match',
};

export function projectionPurpose(name: string): string | undefined {
  return PURPOSES[name];
}

const STATES: Readonly<Record<Projection['state'], readonly [Tone, string]>> = {
  running: ['ok', 'running'],
  rebuilding: ['wait', 'rebuilding'],
  parked: ['bad', 'parked'],
};

/** More events than arrive between two rounds: the projection is behind. */
const LAG_SHOWN_FROM = 1_000;

export function projectionState({ state, lag }: Pick<Projection, 'state' | 'lag'>): readonly [Tone, string] {
  if (state === 'running' && lag >= LAG_SHOWN_FROM) return ['warn', 'behind'];
  return STATES[state];
}

/** What there is to know beyond the state: why it stopped, or how far a rebuild has got. */
export function projectionDetail({ state, reason, rebuild, head }: Projection): string {
  if (rebuild?.error !== undefined)
    return `The rebuild ended, and the rows are unchanged: ${withStop(rebuild.error)} Fix the cause, then rebuild it again.`;
  if (state === 'rebuilding') {
    if (rebuild === undefined) return 'Started elsewhere, such as on the command line.';
    return head === 0 ? '' : `${formatShare(Math.min(1, rebuild.position / head))} of the log`;
  }
  if (state === 'parked')
    return `It stopped at ${reason ?? 'an event that it cannot fold'}. Update to a version that supports this event, then rebuild it.`;
  return '';
}

function withStop(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

/** Those that need a person first. */
export function orderedProjections(projections: readonly Projection[]): Projection[] {
  const rank = (projection: Projection) =>
    ['bad', 'warn', 'wait', 'ok'].indexOf(projection.rebuild?.error ? 'bad' : projectionState(projection)[0]);
  return projections.toSorted((one, other) => rank(one) - rank(other) || one.name.localeCompare(other.name));
}

export function projectionsText(projections: readonly Projection[]): string {
  const parked = projections.filter(({ state }) => state === 'parked').length;
  return parked === 0 ? 'none is parked' : counted(parked, 'is parked', 'are parked');
}
