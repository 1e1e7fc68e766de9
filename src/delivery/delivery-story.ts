import { type Outcome } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import type { Platform, PlatformName } from '../platforms/platform.js';
import type { SiteConnection } from '../sites/connection.js';
import { settingsAsOf } from './courier.js';
import { type Delivery, foldDeliveries, isOutcome, resultOf } from './delivery.js';
import { type ReceivedConversion, reopenedBy, spell } from './received.js';

/** All that the log knows of one delivery. */
export interface DeliveryStory {
  readonly platform: PlatformName;
  readonly status: string;
  readonly reason?: string;
  /** Each try, oldest first. */
  readonly attempts: readonly (Omit<Outcome, 'conversionId' | 'platform'> & { readonly time: string })[];
  /** What was sent, built again; absent when nothing was, or when the person has been erased. */
  readonly payload?: unknown;
  /** Whether it is what was sent, by its digest. */
  readonly payloadIsExact?: boolean;
}

/** From a conversion's stream, and the connections of its site as they were and are. */
export function tellDeliveries(
  events: readonly StoredEvent[],
  connections: readonly SiteConnection[],
  platformOf: (name: string) => Platform | undefined,
): DeliveryStory[] {
  const [opening] = events;
  if (opening?.type !== 'conversion.received.v1') return [];
  return foldDeliveries(events).map((delivery) => {
    const { platform, last } = delivery;
    const { status, reason } = resultOf(last, opening.data.trial);
    const attempts = events
      .filter(isOutcome)
      .filter(({ data }) => data.platform === platform)
      .map(({ time, data: { conversionId: _, platform: __, ...outcome } }) => ({ time, ...outcome }));
    const connection = connections.find((candidate) => candidate.platform === platform);
    return {
      platform,
      status,
      ...(reason !== undefined && { reason }),
      attempts,
      ...rebuild(reopenedBy(opening, events, delivery.reopened), delivery, connection, platformOf(platform)),
    };
  });
}

function rebuild(
  received: ReceivedConversion,
  { bodySha256, eventId, settings }: Delivery,
  connection: SiteConnection | undefined,
  platform: Platform | undefined,
): Pick<DeliveryStory, 'payload' | 'payloadIsExact'> {
  if (!connection || !platform || !received.personal || bodySha256 === undefined) return {};
  const spelled = spell(received, platform, settingsAsOf(connection, settings ?? received.data.settings), eventId);
  if ('skip' in spelled) return {};
  return { payload: JSON.parse(spelled.body), payloadIsExact: spelled.bodySha256 === bodySha256 };
}
