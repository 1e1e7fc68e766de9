import type { Outcome } from '../events/delivery.events.js';
import { publishedFields } from '../events/unpublished-fields.js';
import type { StoredEvent } from '../log/event.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import { platformOfConnection } from '../platforms/index.js';
import type { Platform } from '../platforms/platform.js';
import type { SiteConnection } from '../sites/connections/connection.js';
import { type Delivery, foldDeliveries, isOutcome, resultOf } from './delivery.js';
import { type DeliveryPayload, rebuildPayload, settingsAsOf } from './payload/payload.js';
import type { Withhold } from './payload/withholding.js';
import { type OrderHistory, type ReceivedConversion, withReopenedVisit } from './received-conversion.js';

/** Everything the log contains about one delivery. */
export interface DeliveryHistory {
  readonly platform: ConnectionName;
  readonly status: string;
  readonly reason?: string;
  /** Oldest first. */
  readonly attempts: readonly (Omit<Outcome, 'conversionId' | 'platform'> & { readonly time: string })[];
  /** The payload that was sent, rebuilt; absent if none was sent or the data subject has been erased. */
  readonly payload?: unknown;
  /** Whether the rebuilt payload has the digest of the one that was sent. */
  readonly payloadIsExact?: boolean;
}

/** Built from a conversion's stream, the order of a correction, and the connections of its site with all their settings versions. */
export function deliveryHistories(
  events: readonly StoredEvent[],
  connections: readonly SiteConnection[],
  order?: OrderHistory,
): DeliveryHistory[] {
  const [opening] = events;
  if (opening?.type !== 'conversion.received.v1') return [];
  return foldDeliveries(events).map((delivery) => {
    const { platform, last } = delivery;
    const { status, reason } = resultOf(last, opening.data.trial);
    const attempts = events
      .filter(isOutcome)
      .filter(({ data }) => data.platform === platform)
      .map(({ time, type, data }) => {
        const { conversionId: _, platform: __, ...outcome } = publishedFields(type, data) as Outcome;
        return { time, ...outcome };
      });
    const connection = connections.find((candidate) => candidate.platform === platform);
    return {
      platform,
      status,
      ...(reason !== undefined && { reason }),
      attempts,
      ...shownPayload(
        withReopenedVisit({ ...opening, ...(order && { order }) }, events, delivery.reopened),
        delivery,
        connection,
      ),
    };
  });
}

function shownPayload(
  received: ReceivedConversion,
  delivery: Delivery,
  connection: SiteConnection | undefined,
): Pick<DeliveryHistory, 'payload' | 'payloadIsExact'> {
  const platform = platformOfConnection(connection);
  if (!connection || !platform) return {};
  const payload = sentPayload(received, delivery, connection, platform);
  return payload
    ? { payload: JSON.parse(payload.body), payloadIsExact: payload.bodySha256 === delivery.bodySha256 }
    : {};
}

/**
 * The newest payload of a delivery, rebuilt; undefined if there was none, or the data subject has been erased. With `withhold` as it
 * would be sent again.
 */
export function sentPayload(
  received: ReceivedConversion,
  delivery: Delivery,
  connection: SiteConnection,
  platform: Platform,
  withhold?: Withhold,
): DeliveryPayload | undefined {
  if (!received.personal || delivery.bodySha256 === undefined) return undefined;
  const asOf = settingsAsOf(connection, delivery.asOf ?? received.data);
  const payload = rebuildPayload(received, platform, asOf, { ...delivery, withhold });
  return 'skip' in payload ? undefined : payload;
}
