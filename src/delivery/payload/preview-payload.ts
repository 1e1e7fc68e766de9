import { statedKeys, subjectOfPerson } from '../../events/person-keys.js';
import type { SiteSettings } from '../../events/site.events.js';
import { UserError } from '../../kernel/errors.js';
import type { StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { PAYLOAD_VERSION } from '../../platforms/payload-version.js';
import type { Settings } from '../../platforms/platform.js';
import type { SiteConnection } from '../../sites/connections/connection.js';
import type { NamedConnection } from '../../sites/connections/named-connection.js';
import type { FindOptOuts } from '../decided.js';
import { type Delivery, foldDeliveries } from '../delivery.js';
import { type ReceivedConversion, withOptOut, withReopenedVisit } from '../received-conversion.js';
import type { ReplayRequest } from '../replay-deliveries.command.js';
import { sendRequestOf } from '../send-request.js';
import { buildPayload, type RequestedPayload, settingsAsOf } from './payload.js';
import { withOrder } from './read-order.js';

/** What a platform would get for a conversion, or why it would get nothing. */
export type PayloadPreview =
  | { readonly status: 'skipped'; readonly reason: string }
  | { readonly status: 'sent'; readonly payload: unknown };

/** Nothing is sent or stored. */
export function previewPayload(
  received: ReceivedConversion,
  { name, platform }: NamedConnection,
  settings: Settings,
  { withhold }: Pick<SiteSettings, 'withhold'>,
  requested: RequestedPayload = { payloadVersion: PAYLOAD_VERSION },
): PayloadPreview {
  const payload = buildPayload(received, platform, settings, { ...requested, platform: name, withhold });
  return 'skip' in payload
    ? { status: 'skipped', reason: payload.skip }
    : { status: 'sent', payload: JSON.parse(payload.body) };
}

export interface RequestedDelivery {
  readonly events: readonly StoredEvent[];
  readonly delivery: Delivery;
  readonly target: NamedConnection;
  readonly connection: SiteConnection;
  readonly replay: ReplayRequest;
}

/** The same for a delivery that is requested again: also if it is bound to an earlier payload (decision 0013). */
export function previewDelivery(
  received: ReceivedConversion,
  { events, delivery, target, connection, replay }: RequestedDelivery,
  site: Pick<SiteSettings, 'withhold'>,
): PayloadPreview {
  const { siteVersion, settings, ...requested } = sendRequestOf(received.data, events, delivery, replay);
  return previewPayload(received, target, settingsAsOf(connection, { siteVersion, settings }), site, requested);
}

/**
 * A stored conversion, from its stream, with the visit that the newest delivery of the connection has, and as it would be sent now:
 * the person may have opted out since.
 */
export async function receivedFor(
  log: Pick<EventLog, 'find' | 'readStreams'>,
  findOptOuts: FindOptOuts,
  events: readonly StoredEvent[],
  connection: ConnectionName,
): Promise<ReceivedConversion> {
  const [opening] = events;
  if (opening?.type === 'conversion.deduplicated.v1')
    throw new UserError(`The conversion is a duplicate of ${opening.data.firstConversionId}: no platform gets it.`);
  if (opening?.type !== 'conversion.received.v1')
    throw new UserError('The conversion was filtered: no platform gets it. Its history tells why.');
  if (!opening.personal)
    throw new UserError('The personal data of the conversion was erased: it is not sent any more.');
  const delivery = foldDeliveries(events).find(({ platform }) => platform === connection);
  const received = await withOrder(log, withReopenedVisit(opening, events, delivery?.reopened));
  const { site, personal } = opening;
  const subject = subjectOfPerson(personal);
  const subjects = [...(subject === undefined ? [] : [subject]), ...statedKeys(personal)];
  return (await findOptOuts(site, subjects)).size > 0 ? withOptOut(received) : received;
}
