import type { ConversionData } from '../events/conversion.events.js';
import type { SendRequest } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import { platformOf } from '../platforms/index.js';
import { PAYLOAD_VERSION } from '../platforms/payload-version.js';
import type { Delivery } from './delivery.js';
import { eventIdOf } from './received-conversion.js';
import type { ReplayRequest } from './replay-deliveries.command.js';

/** How a delivery is sent again. One that the platform may have accepted keeps its payload and account, unless it is forced. */
export function sendRequestOf(
  data: ConversionData,
  events: readonly StoredEvent[],
  delivery: Delivery,
  { platform, settingsPosition, force }: Pick<ReplayRequest, 'platform' | 'settingsPosition' | 'force'>,
): SendRequest {
  const eventId = force ? nextEventId(eventIdOf(data, platformOf(platform)), events) : delivery.eventId;
  return {
    conversionId: data.conversionId,
    platform,
    attempt: delivery.attempts,
    settings: settingsPosition,
    // A first attempt without an outcome may have been sent in the version of the receipt.
    ...((force || delivery.last) && { payloadVersion: PAYLOAD_VERSION }),
    reopened: delivery.reopened,
    ...(eventId !== undefined && { eventId }),
    // The platform cannot have accepted a new event id.
    ...(force ? undefined : bindingOf(delivery, data.settings ?? settingsPosition)),
  };
}

/** What keeps a delivery bound that the platform may have accepted under this event id; undefined if it cannot have. */
function bindingOf(
  { unknownSince, bodySha256, settingsPosition, payloadVersion, without }: Delivery,
  receiptSettings: number,
): Pick<SendRequest, 'unknownSince' | 'bodySha256' | 'settings' | 'payloadVersion' | 'without'> | undefined {
  if (unknownSince === undefined) return undefined;
  const settings = settingsPosition ?? receiptSettings;
  return { unknownSince, bodySha256, settings, payloadVersion, ...(without && { without }) };
}

/** `<id>-r2`, `-r3`, …: unique among the forced deliveries of the conversion, at all platforms. */
function nextEventId(id: string, events: readonly StoredEvent[]): string {
  const used = new Set(
    events.map((event) => (event.type === 'conversion.send_requested.v1' ? event.data.eventId : undefined)),
  );
  let number = 2;
  while (used.has(`${id}-r${number}`)) number += 1;
  return `${id}-r${number}`;
}
