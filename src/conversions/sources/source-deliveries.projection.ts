import type { ConversionData } from '../../events/conversion.events.js';
import type { IgnoredDelivery, RefusedDeliveries } from '../../events/inbound.events.js';
import type { Page, Projection } from '../../log/projections/projection.js';
import type { PageRow, Reducer } from '../../log/projections/reducer.js';

/** Deliveries of a connection that are listed. */
export const LISTED_MAX = 50;

interface ListedDelivery {
  readonly keyId: string;
  readonly position: number;
  readonly site: string;
  readonly time: string;
  readonly topic: string;
  readonly outcome: string;
  readonly reason?: string;
  readonly conversion?: string;
}

interface Refused {
  readonly keyId: string;
  readonly site: string;
  readonly reason: string;
  count: number;
  last: string;
}

interface State {
  /** Newest last. */
  readonly deliveries: Map<string, ListedDelivery[]>;
  readonly refused: Map<string, Refused>;
}

const OUTCOMES: Readonly<Record<string, string>> = {
  'conversion.received.v1': 'received',
  'conversion.deduplicated.v1': 'deduplicated',
  'conversion.filtered.v1': 'filtered',
};

const DELIVERIES: Reducer<State> = {
  types: [...Object.keys(OUTCOMES), 'inbound.delivery_ignored.v1', 'inbound.deliveries_refused.v1'],
  start: () => ({ deliveries: new Map(), refused: new Map() }),
  add({ deliveries, refused }, row) {
    if (row.type === 'inbound.deliveries_refused.v1') return addRefused(refused, row, row.data() as RefusedDeliveries);
    const listed = listedOf(row);
    if (!listed) return;
    const known = deliveries.get(listed.keyId) ?? [];
    known.push(listed);
    if (known.length > LISTED_MAX) known.shift();
    deliveries.set(listed.keyId, known);
  },
};

function listedOf(row: PageRow): ListedDelivery | undefined {
  const { type, position, site, time } = row;
  const stored = { position, site, time };
  if (type === 'inbound.delivery_ignored.v1') {
    const { keyId, topic, reason, conversionId } = row.data() as IgnoredDelivery;
    return { ...stored, keyId, topic, outcome: 'ignored', reason, ...(conversionId && { conversion: conversionId }) };
  }
  const { keyId, conversionId, delivery, correction, trial } = row.data() as ConversionData;
  const isCorrected = correction && type === 'conversion.received.v1';
  const outcome = trial ? 'trial' : isCorrected ? 'corrected' : (OUTCOMES[type] as string);
  return delivery && { ...stored, keyId, topic: delivery.topic, outcome, conversion: conversionId };
}

function addRefused(
  refused: Map<string, Refused>,
  { site, time }: PageRow,
  { keyId, reasons }: RefusedDeliveries,
): void {
  for (const [reason, count] of Object.entries(reasons)) {
    const key = `${keyId} ${reason}`;
    const known = refused.get(key) ?? { keyId, site, reason, count: 0, last: time };
    known.count += count;
    known.last = time;
    refused.set(key, known);
  }
}

/** The newest deliveries of each connection of a source, without personal values, and how many were refused for which reason. */
export const sourceDeliveriesProjection: Projection = {
  name: 'source_deliveries',
  tables: ['source_deliveries', 'source_refusals'],
  bySite: true,
  reducers: [DELIVERIES],
  async fold(page: Page): Promise<void> {
    const { deliveries, refused } = await page.reduce(DELIVERIES);
    if (deliveries.size > 0) {
      await page.tx.query(
        `INSERT INTO source_deliveries (key_id, position, site, time, topic, outcome, reason, conversion)
         SELECT "keyId", position, site, time, topic, outcome, reason, conversion FROM json_to_recordset($1) AS d (
           "keyId" uuid, position bigint, site text, time timestamptz, topic text, outcome text, reason text, conversion uuid)`,
        [JSON.stringify([...deliveries.values()].flat())],
      );
      await page.tx.query(
        `DELETE FROM source_deliveries d USING unnest($1::uuid[]) AS k (key_id)
          WHERE d.key_id = k.key_id AND d.position <= (
            SELECT o.position FROM source_deliveries o WHERE o.key_id = k.key_id ORDER BY o.position DESC OFFSET $2 LIMIT 1)`,
        [[...deliveries.keys()], LISTED_MAX],
      );
    }
    if (refused.size === 0) return;
    await page.tx.query(
      `INSERT INTO source_refusals (key_id, reason, site, count, last)
       SELECT "keyId", reason, site, count, last FROM json_to_recordset($1) AS r (
         "keyId" uuid, reason text, site text, count bigint, last timestamptz)
       ON CONFLICT (key_id, reason) DO UPDATE SET count = source_refusals.count + excluded.count, last = excluded.last`,
      [JSON.stringify([...refused.values()])],
    );
  },
};
