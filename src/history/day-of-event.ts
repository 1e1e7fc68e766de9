import type { EventLog } from '../log/event-log.js';

const DAY_MS = 86_400_000;

export interface LogDay {
  /** `2026-11-17` */
  readonly day: string;
  /** Position of the last event before its end. */
  readonly last: number;
}

/**
 * The UTC day of an event. One that was stored while the database's clock was ahead belongs to the day on which the clock was set
 * back: days are ranges of positions, and by its own time it would take all events of the days between along.
 */
export async function dayOfEvent(log: EventLog, event: { position: number; time: string }): Promise<LogDay> {
  const startsBefore = async (day: number) => (await log.positionBefore(new Date(day * DAY_MS))) < event.position;
  let day = Math.floor(Date.parse(event.time) / DAY_MS);
  if (!(await startsBefore(day))) {
    let [earliest, latest] = [0, day];
    while (latest - earliest > 1) {
      const middle = Math.floor((earliest + latest) / 2);
      if (await startsBefore(middle)) earliest = middle;
      else latest = middle;
    }
    day = earliest;
  }
  return {
    day: new Date(day * DAY_MS).toISOString().slice(0, 10),
    last: await log.positionBefore(new Date((day + 1) * DAY_MS)),
  };
}
