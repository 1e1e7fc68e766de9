const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Parses `500ms`, `2s`, `15m`, `24h`, `30d`. A bare `0` is accepted, because it is the same in every unit. */
export function parseDurationMs(text: string): number {
  const { amount, unit } = /^(?<amount>\d+)(?<unit>ms|s|m|h|d)$/.exec(text.trim())?.groups ?? {};
  const ms = amount === undefined ? Number.NaN : Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS];
  if (Number.isSafeInteger(ms)) return ms;
  if (text.trim() === '0') return 0;
  throw new Error(`"${text}" is not a duration: write a whole number and a unit, like 500ms, 2s, 15m, 24h or 30d.`);
}

/** The shortest exact form that `parseDurationMs` reads. One day is `24h`; longer durations use days. */
export function formatDuration(ms: number): string {
  const whole = Math.round(ms);
  if (whole === 0) return '0s';
  if (whole % UNITS_MS.d === 0 && whole !== UNITS_MS.d) return `${whole / UNITS_MS.d}d`;
  if (whole % UNITS_MS.h === 0) return `${whole / UNITS_MS.h}h`;
  if (whole % UNITS_MS.m === 0) return `${whole / UNITS_MS.m}m`;
  if (whole % UNITS_MS.s === 0) return `${whole / UNITS_MS.s}s`;
  return `${whole}ms`;
}
