/** The time by which ages, schedules and windows are judged, in milliseconds since 1970. */
export interface Clock {
  nowMs(): number;
}

/** How far the clock of a sender may be ahead of the database's, or behind it. */
export const SENDER_CLOCK_TOLERANCE_MS = 10 * 60 * 1_000;

/** Nest's token for the database's clock. */
export const CLOCK = Symbol('CLOCK');
