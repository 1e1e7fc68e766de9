/** A session ends then in any case. */
export const SESSION_DAYS = 7;
