import type { ConversionPersonal } from '../events/conversion.events.js';
import { statedKeys } from '../events/person-keys.js';

/** Which of these people of a site have opted out, or count as if they had, as of now. Rejects if that cannot be read. */
export type FindOptOuts = (site: string, subjects: readonly string[]) => Promise<ReadonlySet<string>>;

export const FIND_CHANGES = Symbol('find-changes');

/** What has become of these people and of the personal parts of these events, as of now. Rejects if that cannot be read. */
export type FindChanges = (site: string, subjects: readonly string[], positions: readonly number[]) => Promise<Changes>;

/** How old the decision on a conversion may be when it is sent: first attempts rarely wait longer, and need no lookup. */
const CURRENT_MS = 1_000;

/** What a conversion that is sent was decided on. */
export interface Decided {
  /** By the monotonic clock. */
  readonly atMs: number;
  /** Of the event that has its personal part. */
  readonly position: number;
  /** Whose consent it was decided on; undefined if an opt-out would change nothing. */
  readonly subject?: string | undefined;
  /** Of a site that identifies people by more than an email: what the sender stated. */
  readonly stated?: ConversionPersonal | undefined;
}

export interface Changes {
  readonly optedOut: ReadonlySet<string>;
  /** Positions of the events that have no personal part any more. */
  readonly erased: ReadonlySet<number>;
}

export function isOutdated({ atMs }: Decided, nowMs: number): boolean {
  return nowMs - atMs > CURRENT_MS;
}

/** An opt-out under any of them counts. */
export function subjectsOf({ subject, stated }: Decided): readonly string[] {
  if (subject === undefined) return [];
  return stated ? [subject, ...statedKeys(stated)] : [subject];
}

/** Why it must not be sent as it is. */
export function changeOf(decided: Decided, { erased, optedOut }: Changes): 'erased' | 'opted_out' | undefined {
  if (erased.has(decided.position)) return 'erased';
  return subjectsOf(decided).some((subject) => optedOut.has(subject)) ? 'opted_out' : undefined;
}
