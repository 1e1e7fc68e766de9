const RFC_3339 =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[T ]([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;

/** The last time that JavaScript can represent. */
export const SECONDS_MAX = 8.64e12;

/** An RFC 3339 time with an offset, or Unix seconds, in milliseconds; undefined if it is neither, or before 1970. */
export function readTimeMs(sent: unknown): number | undefined {
  if (typeof sent === 'number') return sent >= 0 && sent <= SECONDS_MAX ? Math.round(sent * 1_000) : undefined;
  if (typeof sent !== 'string') return undefined;
  const text = sent.trim();
  const [, year, month, day] = RFC_3339.exec(text) ?? [];
  if (year === undefined) return undefined;
  // `Date.parse` takes February 30 for March 2.
  if (Number(day) > new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()) return undefined;
  const ms = Date.parse(text);
  return ms >= 0 ? ms : undefined;
}
