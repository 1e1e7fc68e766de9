import { foldDeliveries } from '../delivery/delivery.js';
import { CONVERSION } from '../events/conversion.events.js';
import type { PositionRange, StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { type ExportContent, type ExportFormat, exportedBy, type FormatName, tableFormat } from './export-formats.js';
import { FLAT_COLUMNS, type FlatColumn } from './flat-columns.js';
import type { RedactedEvent } from './redact-event.js';

/** Conversions per query. */
const PAGE_CONVERSIONS = 1_000;

/** A conversion and what became of its deliveries. */
export interface ConversionRow {
  readonly opening: RedactedEvent;
  /** Status and reason by the name of the connection. */
  readonly deliveries: ReadonlyMap<string, { readonly status: string; readonly reason?: string | undefined }>;
}

/** Of the flat columns, those that conversions have. */
const OF_CONVERSION: ReadonlySet<string> = new Set([
  ...['conversion_id', 'order_id', 'event', 'value', 'currency', 'occurred_at', 'source', 'trial', 'correction'],
  ...['matched', 'consent', 'click_kind'],
  ...['utm_source', 'utm_medium', 'utm_campaign', 'utm_term', 'utm_content', 'utm_id'],
]);

/** `connections`: their names, a column each. */
export function conversionColumns(connections: readonly string[]): FlatColumn<ConversionRow>[] {
  return [
    { name: 'time', type: 'time', of: ({ opening }) => opening.time },
    { name: 'site', type: 'text', of: ({ opening }) => opening.site },
    ...FLAT_COLUMNS.filter(({ name }) => OF_CONVERSION.has(name)).map(({ name, type, of }) => {
      return { name, type, of: ({ opening }: ConversionRow) => of(opening) };
    }),
    ...connections.map((name): FlatColumn<ConversionRow> => {
      return { name, type: 'text', of: ({ deliveries }) => deliveries.get(name)?.status ?? null };
    }),
    { name: 'reasons', type: 'text', of: reasonsOf },
  ];
}

/** Why deliveries were not delivered: a JSON object by the name of the connection. */
function reasonsOf({ deliveries }: ConversionRow): string | null {
  const reasons = [...deliveries].flatMap(([name, { reason }]) => (reason === undefined ? [] : [[name, reason]]));
  return reasons.length === 0 ? null : JSON.stringify(Object.fromEntries(reasons));
}

/** A delivery without an outcome is queued. */
export function toConversionRow(events: readonly StoredEvent[], content: ExportContent): ConversionRow {
  const exported = exportedBy(content);
  const [opening, ...others] = events.map(exported) as [RedactedEvent, ...RedactedEvent[]];
  const deliveries = foldDeliveries([opening, ...others] as StoredEvent[]).map(
    ({ platform, last }) => [platform, { status: last?.status ?? 'queued', reason: last?.reason }] as const,
  );
  return { opening, deliveries: new Map(deliveries) };
}

export interface TableExport extends ExportContent {
  readonly range: PositionRange;
  readonly site: string | undefined;
  /** Only these conversions. */
  readonly conversions: ReadonlySet<string> | undefined;
  readonly connections: readonly string[];
  readonly format: FormatName;
  write(bytes: Uint8Array): Promise<void>;
  /** May throw to stop the export. */
  progress(conversions: number, position: number): void;
}

/** Writes a row for each conversion that was received in the range, as it is now. Returns their number. */
export async function exportConversions(log: EventLog, table: TableExport): Promise<number> {
  const { range, site, conversions, connections, format, write, progress, ...content } = table;
  const encoder: ExportFormat<ConversionRow> = tableFormat(format, conversionColumns(connections));
  const selection = {
    until: range.until,
    types: ['conversion.received.v1'] as const,
    ...(site !== undefined && { site }),
  };
  let count = 0;
  for (let { after } = range; ; ) {
    const page = await log.read({ ...selection, after, limit: PAGE_CONVERSIONS });
    const openings = page.filter(({ data }) => !conversions || conversions.has(data.conversionId));
    const ids = openings.map(({ data }) => data.conversionId);
    // Without personal parts, which only the openings need.
    const later = new Map<string, StoredEvent[]>(openings.map((opening) => [opening.stream, [opening]]));
    for (const event of await log.readStreams(CONVERSION, ids))
      if (event.version > 1) later.get(event.stream)?.push(event);
    for (const events of later.values()) encoder.add(toConversionRow(events, content));
    count += openings.length;
    await write(encoder.take());
    const last = page.at(-1);
    if (!last || page.length < PAGE_CONVERSIONS) break;
    after = last.position;
    progress(count, after);
  }
  await write(encoder.end());
  return count;
}
