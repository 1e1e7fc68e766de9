/** The time by which ages, schedules and windows are judged, in milliseconds since 1970. */
export interface Clock {
  nowMs(): number;
}

/** Nest's token for the database's clock. */
export const CLOCK = Symbol('CLOCK');
