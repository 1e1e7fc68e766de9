import { UserError } from '../kernel/errors.js';
import type { PositionRange } from '../log/event.js';
import type { EventLog, LogReads } from '../log/event-log.js';
import { positionBefore } from '../sites/position-before.js';
import { type SiteScope, scopeStart } from '../sites/site.js';

/** A point in the log: a position, or a time. */
export type Bound = { readonly position: number } | { readonly time: Date };

const TIME = /^(\d{4}-\d{2}-\d{2})(T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)?(Z|[+-]\d{2}:\d{2})?$/;

/** Undefined if the text is neither a position nor a time. A time without a zone is UTC, like all times that are printed. */
export function parseBound(text: string): Bound | undefined {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return { position: Number(text) };
  const [, day = '', clock = 'T00:00', zone = 'Z'] = TIME.exec(text) ?? [];
  const time = new Date(`${day}${clock}${zone}`);
  // JavaScript parses 30 February as 2 March.
  const exists = !Number.isNaN(time.getTime()) && new Date(day).toISOString().startsWith(day);
  return exists ? { time } : undefined;
}

/** The last position before the bound. A time separates the events of a site by when they were stored first, if a site is given. */
export async function lastBefore(
  log: Pick<LogReads, 'positionBefore' | 'read' | 'readStreams'>,
  bound: Bound,
  site?: string,
): Promise<number> {
  return 'position' in bound ? bound.position - 1 : positionBefore(log, bound.time, site);
}

/** Between which positions, both exclusive, a page of a search in a site is. The second may be beyond the head. */
export async function searchBounds(
  log: Parameters<typeof lastBefore>[0],
  site: SiteScope,
  {
    from,
    to,
    cursor = Number.MAX_SAFE_INTEGER,
  }: { from?: Bound | undefined; to?: Bound | undefined; cursor?: number | undefined },
): Promise<{ after: number; before: number }> {
  return {
    after: Math.max(scopeStart(site), from ? await lastBefore(log, from, site.host) : 0),
    before: Math.min(cursor, to ? (await lastBefore(log, to, site.host)) + 1 : Number.MAX_SAFE_INTEGER),
  };
}

/** `from` is inclusive, `to` exclusive; an error if `from` is the later one. The defaults are the start of the log and its head. */
export async function positionRangeOf(
  log: EventLog,
  { from, to }: { from?: Bound | undefined; to?: Bound | undefined },
  /** Site whose events are read; undefined: all sites. */
  site?: SiteScope,
): Promise<PositionRange> {
  const head = await log.head();
  const after = from ? await lastBefore(log, from, site?.host) : 0;
  const last = to ? await lastBefore(log, to, site?.host) : head;
  if (from && to && isAfter(from, after, to, last))
    throw new UserError('The start of the range is after its end. Exchange "from" and "to".');
  return { after: Math.max(after, site ? scopeStart(site) : 0), until: Math.min(head, last) };
}

/** By what was stated: times in the future, or between the same two events, have the same position. */
function isAfter(from: Bound, after: number, to: Bound, last: number): boolean {
  if ('time' in from && 'time' in to) return from.time > to.time;
  return after > last;
}
