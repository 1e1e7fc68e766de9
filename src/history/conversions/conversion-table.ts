import type { StoredOpening } from '../../conversions/conversion.js';
import type { PositionRange, StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import type { ExportProgress } from '../export-file.js';
import { type ExportContent, type ExportFormat, exportedBy, type FormatName, tableFormat } from '../export-formats.js';
import { FLAT_COLUMNS, type FlatColumn } from '../flat-columns.js';
import type { RedactedEvent } from '../redact-event.js';
import {
  type ConversionFilter,
  type DeliveryState,
  matchesDeliveries,
  openingConditions,
  openingTypes,
} from './conversion-filter.js';
import { deliveryStates, readConversionStreams } from './delivery-states.js';

/** Conversions per query. */
const PAGE_CONVERSIONS = 1_000;

/** A conversion and what became of its deliveries. */
export interface ConversionRow {
  readonly opening: RedactedEvent;
  /** By the name of the connection. */
  readonly deliveries: ReadonlyMap<string, DeliveryState>;
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
    { name: 'status', type: 'text', of: ({ opening }) => opening.type.split('.')[1] ?? null },
  ];
}

/** Why deliveries were not delivered: a JSON object by the name of the connection. */
function reasonsOf({ deliveries }: ConversionRow): string | null {
  const reasons = [...deliveries].flatMap(([name, { reason }]) => (reason === undefined ? [] : [[name, reason]]));
  return reasons.length === 0 ? null : JSON.stringify(Object.fromEntries(reasons));
}

export function toConversionRow(events: readonly StoredEvent[], content: ExportContent): ConversionRow {
  const exported = exportedBy(content);
  const [opening, ...others] = events.map(exported) as [RedactedEvent, ...RedactedEvent[]];
  const deliveries = deliveryStates([opening, ...others] as StoredEvent[]);
  return { opening, deliveries: new Map(deliveries.map((delivery) => [delivery.platform, delivery])) };
}

export interface TableExport extends ExportContent {
  readonly range: PositionRange;
  readonly site: string | undefined;
  readonly filter: ConversionFilter;
  /** Only these conversions. */
  readonly conversions?: ReadonlySet<string> | undefined;
  readonly connections: readonly string[];
  readonly format: FormatName;
  /** Progress of an earlier, interrupted process; undefined to start at the beginning. */
  readonly resumeFrom?: TableProgress | undefined;
  /** `progress` includes these bytes. */
  write(bytes: Uint8Array, progress: TableProgress): Promise<void>;
  /** May throw to stop the export. */
  progress(conversions: number, position: number): void;
}

export type TableProgress = Omit<ExportProgress, 'bytes'>;

/** Writes a row for each matching conversion of the range, as it is now. Returns their number. */
export async function exportConversions(log: EventLog, table: TableExport): Promise<number> {
  const { range, site, filter, conversions, connections, format, resumeFrom, write, progress, ...content } = table;
  if (resumeFrom?.complete) return resumeFrom.events;
  const encoder: ExportFormat<ConversionRow> = tableFormat(format, conversionColumns(connections), {
    isResumed: resumeFrom !== undefined,
    state: resumeFrom?.state,
  });
  const types = openingTypes(filter);
  const selection = {
    ...{ until: range.until, types, where: openingConditions(filter), limit: PAGE_CONVERSIONS },
    ...(site !== undefined && { site }),
  };
  let count = resumeFrom?.events ?? 0;
  for (let after = resumeFrom?.position ?? range.after; types.length > 0; ) {
    const page = await log.read<StoredOpening['type']>({ ...selection, after });
    const openings = page.filter(({ data }) => !conversions || conversions.has(data.conversionId));
    for (const events of (await readConversionStreams(log, openings)).values()) {
      if (!matchesDeliveries(filter, deliveryStates(events))) continue;
      encoder.add(toConversionRow(events, content));
      count += 1;
    }
    after = page.at(-1)?.position ?? after;
    await write(encoder.take(), { position: after, events: count, state: encoder.state?.() });
    if (page.length < PAGE_CONVERSIONS) break;
    progress(count, after);
  }
  await write(encoder.end(), { position: range.until, events: count, complete: true });
  return count;
}
