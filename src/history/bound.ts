import type { EventLog } from '../log/event-log.js';

/** A place in the log: a position, or the moment between two. */
export type Bound = { readonly position: number } | { readonly time: Date };

const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(Z|[+-]\d{2}:\d{2})?$/;

/** Undefined when it is neither. Without a zone a time is UTC, as all times are that we print. */
export function parseBound(text: string): Bound | undefined {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return { position: Number(text) };
  const [, day = '', clock = 'T00:00', zone = 'Z'] = TIME.exec(text) ?? [];
  const time = new Date(`${day}${clock}${zone}`);
  // JavaScript takes the 30th of February for the 2nd of March.
  const exists = !Number.isNaN(time.getTime()) && new Date(day).toISOString().startsWith(day);
  return exists ? { time } : undefined;
}

/** The last position before it. */
export async function lastBefore(log: EventLog, bound: Bound): Promise<number> {
  return 'position' in bound ? bound.position - 1 : log.positionBefore(bound.time);
}

/** A stretch of the log: after a position, up to and with another. */
export interface PositionRange {
  readonly after: number;
  readonly until: number;
}

/** `from` is part of it, `to` is not; unless given, from the beginning and up to now. */
export async function positionRangeOf(
  log: EventLog,
  { from, to }: { from?: Bound; to?: Bound },
): Promise<PositionRange> {
  const head = await log.head();
  return {
    after: from ? await lastBefore(log, from) : 0,
    until: to ? Math.min(head, await lastBefore(log, to)) : head,
  };
}
