/** Spans that end now, in hours. */
export const SPANS = [
  ['1h', 'Last hour', 1],
  ['24h', 'Last 24 hours', 24],
  ['7d', 'Last 7 days', 168],
  ['30d', 'Last 30 days', 720],
] as const;

/** Which time a list is about, as it is kept in the address. */
export interface TimeFilter {
  readonly span?: (typeof SPANS)[number][0];
  /** Times, in place of a span. */
  readonly from?: string;
  readonly to?: string;
}

/** An address may contain anything: what is no time is left out. */
export function readTimes({ span: named, from, to }: Readonly<Record<string, string>>): TimeFilter {
  const span = SPANS.find(([known]) => known === named)?.[0];
  return {
    ...(span && { span }),
    ...(!span && isTime(from) && { from }),
    ...(!span && isTime(to) && { to }),
  };
}

function isTime(text: string | undefined): text is string {
  return text !== undefined && !Number.isNaN(Date.parse(text));
}

/** With times in place of a span, which counts from the moment the page was opened or refreshed. */
export function withTimes<Filters extends TimeFilter>(filters: Filters, nowMs: number): Omit<Filters, 'span'> {
  const { span, ...rest } = filters;
  const hours = SPANS.find(([known]) => known === span)?.[2];
  return hours === undefined ? rest : { ...rest, from: new Date(nowMs - hours * 3_600_000).toISOString() };
}
