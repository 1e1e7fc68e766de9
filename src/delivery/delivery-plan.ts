import type { DeliveryPlan } from '../events/conversion.events.js';
import { PAYLOAD_VERSION } from '../platforms/payload-version.js';
import type { LoadedSite } from '../sites/site-directory.js';

const NOT_CONNECTED: DeliveryPlan = {};

/** The delivery fields of a new conversion of this site. Empty while no platform is connected. */
export function deliveryPlanOf({ connections, settingsPosition }: LoadedSite): DeliveryPlan {
  if (connections.size === 0) return NOT_CONNECTED;
  return { platforms: [...connections.keys()], settings: settingsPosition, payloadVersion: PAYLOAD_VERSION };
}
