import { CONVERSION } from '../events/conversion.events.js';
import type { EventLog } from '../log/event-log.js';
import type { SyncLine } from '../outbound/sync-log.js';

export interface ConversionOfLine {
  readonly orderId?: string;
  readonly event?: string;
}

/** Adds the order and the event of their conversions to attempts: one query by the streams of the conversions. */
export async function withConversions<Line extends SyncLine>(
  log: EventLog,
  lines: readonly Line[],
): Promise<(Line & ConversionOfLine)[]> {
  const ids = [...new Set(lines.flatMap(({ conversionId }) => conversionId ?? []))];
  const openings = ids.length === 0 ? [] : await log.readOpenings(CONVERSION, ids);
  const found = new Map(
    openings.map(({ data }) => {
      const { conversionId, orderId, event } = data as ConversionOfLine & { conversionId: string };
      return [conversionId, { ...(orderId !== undefined && { orderId }), ...(event !== undefined && { event }) }];
    }),
  );
  return lines.map((line) => ({ ...line, ...found.get(line.conversionId ?? '') }));
}
