import type { EventLog } from '../log/event-log.js';

const DAY_MS = 86_400_000;

export interface LogDay {
  /** `2026-11-17` */
  readonly day: string;
  /** Position of the last event before its end. */
  readonly last: number;
}

/**
 * The UTC day on which an event was stored in this log: days are ranges of positions. One that was stored while the database's clock was
 * ahead belongs to the day on which the clock was set back, and a copied one to the day on which it was copied. By its own time it would
 * take all events of the days between along.
 */
export async function dayOfEvent(log: EventLog, event: { position: number; time: string }): Promise<LogDay> {
  const startsBefore = async (day: number) => (await log.positionBefore(new Date(day * DAY_MS))) < event.position;
  const own = Math.floor(Date.parse(event.time) / DAY_MS);
  // The day starts before the event, and the next one does not.
  let [day, next] = (await startsBefore(own)) ? [own, own + 1] : [0, own];
  for (let days = 1; day >= own && (await startsBefore(next)); days *= 2) [day, next] = [next, next + days];
  while (next - day > 1) {
    const middle = Math.floor((day + next) / 2);
    if (await startsBefore(middle)) day = middle;
    else next = middle;
  }
  return {
    day: new Date(day * DAY_MS).toISOString().slice(0, 10),
    last: await log.positionBefore(new Date((day + 1) * DAY_MS)),
  };
}
