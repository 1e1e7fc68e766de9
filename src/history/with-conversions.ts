import { CONVERSION } from '../events/conversion.events.js';
import type { StoredEvent } from '../log/event.js';
import type { LogReads } from '../log/event-log.js';
import type { SyncLine } from '../outbound/sync-log.js';

export interface ConversionOfLine {
  readonly orderId?: string;
  readonly event?: string;
}

/** Adds the order and the event of their conversions to attempts: one query by the streams of the conversions, unless their openings are known. */
export async function withConversions<Line extends SyncLine>(
  log: Pick<LogReads, 'readOpenings'>,
  lines: readonly Line[],
  known: readonly StoredEvent[] = [],
): Promise<(Line & ConversionOfLine)[]> {
  const ids = [...new Set(lines.flatMap(({ conversionId }) => conversionId ?? []))];
  const found = new Map(known.map(toEntry));
  const unknown = ids.filter((id) => !found.has(id));
  if (unknown.length > 0)
    for (const opening of await log.readOpenings(CONVERSION, unknown)) found.set(...toEntry(opening));
  return lines.map((line) => ({ ...line, ...found.get(line.conversionId ?? '') }));
}

function toEntry({ data }: StoredEvent): [string, ConversionOfLine] {
  const { conversionId, orderId, event } = data as ConversionOfLine & { conversionId: string };
  return [conversionId, { ...(orderId !== undefined && { orderId }), ...(event !== undefined && { event }) }];
}
