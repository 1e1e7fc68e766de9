import { connectionTitle, counted, type Tone } from '../format.js';
import type { Series } from './overview-view.js';

type Bucket = Series['buckets'][number];

/** The layers of the chart, from the bottom up. The first two are the conversions that count. */
export const LAYERS = [
  { name: 'matched', title: 'Matched to a visit', of: ({ matched }: Bucket) => matched },
  {
    name: 'unmatched',
    title: 'Not matched',
    of: ({ conversions, matched }: Bucket) => conversions - matched,
  },
  { name: 'duplicates', title: 'Duplicates', of: ({ duplicates }: Bucket) => duplicates },
  { name: 'filtered', title: 'Filtered out', of: ({ filtered }: Bucket) => filtered },
] as const;

/** The upper edge of each layer, in the order of the layers. */
export function stackedValues(buckets: readonly Bucket[]): number[][] {
  const below = buckets.map(() => 0);
  return LAYERS.map(({ of }) =>
    buckets.map((bucket, index) => {
      below[index] = (below[index] ?? 0) + of(bucket);
      return below[index];
    }),
  );
}

/** Whether the buckets are days rather than hours. */
export function isByDay([first]: readonly Bucket[]): boolean {
  return first !== undefined && Date.parse(first.end) - Date.parse(first.start) > 7_200_000;
}

/** The time from which on the chart falls because the last bucket is not over yet. */
export function unfinishedFrom({ buckets, asOf }: Pick<Series, 'buckets' | 'asOf'>): string | undefined {
  const [before, last] = buckets.slice(-2);
  if (!before || !last) return undefined;
  const endMs = Date.parse(last.start) + Date.parse(before.end) - Date.parse(before.start);
  return endMs > Date.parse(asOf.time) ? before.start : undefined;
}

/** Distances of the lines behind the chart: 1, 2, 5, 10 and so on, whole numbers because conversions are counted. */
export const AXIS_STEPS: number[] = Array.from({ length: 10 }, (_, power) =>
  [1, 2, 5].map((step) => step * 10 ** power),
).flat();

export interface Mark {
  readonly time: string;
  readonly text: string;
  readonly tone: Tone;
  readonly reason?: string;
}

type Annotation = Series['annotations'][number];

const CHANGES: Readonly<Record<Exclude<Annotation['kind'], 'version'>, readonly [words: string, tone: Tone]>> = {
  parked: ['stopped, needs attention', 'bad'],
  paused: ['paused', 'warn'],
  resumed: ['sends again', 'ok'],
  connected: ['connected', 'plain'],
  disconnected: ['disconnected', 'plain'],
};

/** What happened to connections and to the service, oldest first. Changes of one kind within a bucket are one mark. */
export function marksOf({ buckets, annotations }: Pick<Series, 'buckets' | 'annotations'>): Mark[] {
  const groups = new Map<string, [Annotation, ...Annotation[]]>();
  for (const annotation of annotations) {
    const index = buckets.findLastIndex(({ start }) => start <= annotation.time);
    const key = `${annotation.kind} ${index}`;
    const group = groups.get(key);
    if (group) group.push(annotation);
    else groups.set(key, [annotation]);
  }
  return [...groups.values()].map(markOf);
}

function markOf(group: readonly [Annotation, ...Annotation[]]): Mark {
  const [first] = group;
  const { time } = first;
  if (first.kind === 'version') {
    const versions = group.flatMap((one) => (one.kind === 'version' ? one.version : []));
    return { time, text: `Version ${versions.join(', ')} started`, tone: 'plain' };
  }
  const [words, tone] = CHANGES[first.kind] ?? [first.kind, 'plain'];
  const names = new Set(group.flatMap((one) => (one.kind === 'version' ? [] : one.platform)));
  const subject = names.size === 1 ? connectionTitle(first.platform) : counted(names.size, 'platform');
  const { reason } = first;
  return { time, text: `${subject} ${words}`, tone, ...(reason !== undefined && names.size === 1 && { reason }) };
}

/** Which marks have their text in the chart: each needs some room after the one before, and those that need action come first. */
export function labelledMarks(marks: readonly Mark[], positionOf: (time: string) => number, room: number): Mark[] {
  const taken: number[] = [];
  const rank = ({ tone }: Mark) => (tone === 'bad' ? 0 : tone === 'warn' ? 1 : 2);
  return marks
    .toSorted((one, other) => rank(one) - rank(other))
    .filter(({ time }) => {
      const at = positionOf(time);
      if (taken.some((other) => Math.abs(other - at) < room)) return false;
      taken.push(at);
      return true;
    });
}

export interface AcceptanceSlot {
  readonly start: string;
  readonly sent: number;
  /** Null if nothing was sent. */
  readonly acceptance: number | null;
}

const SLOTS = 28;

/** Acceptance of a connection over time, in about as many parts as can be told apart. */
export function acceptanceSlots({ buckets }: Pick<Series, 'buckets'>, platform: string): AcceptanceSlot[] {
  const size = Math.max(1, Math.ceil(buckets.length / SLOTS));
  const slots: AcceptanceSlot[] = [];
  for (let from = 0; from < buckets.length; from += size) {
    const counts = buckets.slice(from, from + size).flatMap(({ platforms }) => platforms[platform] ?? []);
    const accepted = counts.reduce((sum, one) => sum + one.delivered + one.accepted + one.confirmed, 0);
    const sent = counts.reduce((sum, one) => sum + one.rejected + one.failed, accepted);
    slots.push({ start: (buckets[from] as Bucket).start, sent, acceptance: sent === 0 ? null : accepted / sent });
  }
  return slots;
}

/** From which share on acceptance is as it should be, or needs a look. */
const GOOD = 0.98;
const TOLERABLE = 0.9;

export function acceptanceTone(acceptance: number | null): Tone {
  if (acceptance === null) return 'plain';
  return acceptance >= GOOD ? 'ok' : acceptance >= TOLERABLE ? 'warn' : 'bad';
}
