import type { DeliveryPlan } from '../events/conversion.events.js';
import { PAYLOAD_VERSION } from '../platforms/payload-version.js';
import type { LoadedSite } from '../sites/site-directory.js';

/** Every conversion of a site has the same plan until the site changes, and is then loaded anew. */
const plans = new WeakMap<LoadedSite, DeliveryPlan>();

/** The delivery fields of a new conversion of this site. Empty while no platform is connected. */
export function deliveryPlanOf(site: LoadedSite): DeliveryPlan {
  let plan = plans.get(site);
  if (!plan) {
    const { connections, siteVersion } = site;
    plan =
      connections.size === 0
        ? {}
        : { platforms: [...connections.keys()], siteVersion, payloadVersion: PAYLOAD_VERSION };
    plans.set(site, plan);
  }
  return plan;
}
