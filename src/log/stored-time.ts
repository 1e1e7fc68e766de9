import { findLastBefore } from './bisect.js';
import { type ClockStep, effectiveTimeMs, latestTimeMs, readClockSteps } from './clock-steps.js';
import { type Queryable, readHead } from './event-reader.js';

/** When an event was stored in this log: its own time may be that at which another log stored it. Those from before the seals have none. */
export const STORED_TIME = `coalesce((SELECT s.time FROM (
  SELECT first, time FROM cc.seals WHERE last >= e.position ORDER BY last LIMIT 1) s WHERE s.first <= e.position), e.time)`;

/** When the first event after a position was stored. */
export async function readTimeAfter(source: Queryable, after: number): Promise<Date | undefined> {
  const { rows } = await source.query<{ time: Date }>(
    `SELECT ${STORED_TIME} AS time FROM cc.events e WHERE e.position > $1 ORDER BY e.position LIMIT 1`,
    [after],
  );
  return rows[0]?.time;
}

/** When the oldest event was stored after a position, or the oldest with a personal part, besides those of some types and categories. */
export async function readOldest(
  source: Queryable,
  kind: 'events' | 'personal parts',
  { after, except }: { readonly after: number; readonly except: readonly string[] },
): Promise<Date | undefined> {
  const join = kind === 'events' ? '' : 'JOIN cc.personal p ON p.position = e.position AND p.position > $1';
  const { rows } = await source.query<{ time: Date }>(
    `SELECT ${STORED_TIME} AS time FROM cc.events e ${join}
      WHERE e.position > $1 AND e.type <> ALL ($2) AND e.category <> ALL ($2) ORDER BY e.position LIMIT 1`,
    [after, except],
  );
  return rows[0]?.time;
}

/** The last position before a time, by when events were stored in this log. */
export function readPositionBefore(source: Queryable, time: Date): Promise<number> {
  return readStoredBefore(source, time, effectiveTimeMs);
}

/** The last position up to which everything was certainly stored before a time: for what cannot be undone (`latestTimeMs`). */
export function readCertainlyBefore(source: Queryable, time: Date, nowMs: number): Promise<number> {
  return readStoredBefore(source, time, (...event) => latestTimeMs(...event, nowMs));
}

/** `timeOf` is monotonic along the log (`clock-steps.ts`), so a search by bisection needs no index on it. */
async function readStoredBefore(
  source: Queryable,
  time: Date,
  timeOf: (steps: readonly ClockStep[], position: number, storedMs: number) => number,
): Promise<number> {
  const steps = await readClockSteps(source);
  return findLastBefore(await readHead(source), async (places) => {
    const { rows } = await source.query<{ after: number; position: number; time: number }>({
      name: 'read-times-after',
      text: `SELECT p.after::float8 AS after, e.position::float8 AS position, extract(epoch FROM e.time)::float8 * 1000 AS time
               FROM unnest($1::bigint[]) AS p (after) CROSS JOIN LATERAL (
                 SELECT e.position, ${STORED_TIME} AS time FROM cc.events e WHERE e.position > p.after
                  ORDER BY e.position LIMIT 1) e`,
      values: [places],
    });
    return new Map(
      rows.map(({ after, position, time: storedMs }) => {
        const isBefore = timeOf(steps, position, storedMs) < time.getTime();
        return [after, { place: position, isBefore }] as const;
      }),
    );
  });
}
