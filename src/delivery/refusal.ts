import type { SiteSettings } from '../events/site.events.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { DeliveryLimits, Platform, Settings } from '../platforms/platform.js';
import { correctedOrder } from './payload/order.js';
import { isCorrectedBy } from './payload/payload.js';
import { leavingOf } from './payload/withholding.js';
import type { ReceivedConversion } from './received-conversion.js';

export type Refusal = 'erased' | 'consent_denied' | 'too_old';

const NO_LIMITS: DeliveryLimits = {};

/** What is looked up only if it matters. */
interface RefusalLookups {
  sendableUntilMs(): number;
  takesAnonymous(): boolean;
}

/** Why the service does not send a conversion now, whatever its payload. */
export function refusalNow(
  { personal, data }: ReceivedConversion,
  { withhold }: Pick<SiteSettings, 'withhold'>,
  nowMs: number,
  { sendableUntilMs, takesAnonymous }: RefusalLookups,
): Refusal | undefined {
  if (!personal) return 'erased';
  if (data.withheld !== undefined && leavingOf(withhold, takesAnonymous) === 'nothing') return 'consent_denied';
  return nowMs <= sendableUntilMs() ? undefined : 'too_old';
}

/** The limits of a platform for a conversion; of a correction, also by the order that it corrects. */
export function limitsOf(
  received: ReceivedConversion,
  name: ConnectionName,
  platform: Platform,
  settings: Settings,
): DeliveryLimits {
  if (!platform.limits) return NO_LIMITS;
  const isCorrection = received.order && isCorrectedBy(platform, settings, received);
  const order = isCorrection ? correctedOrder(received, name) : undefined;
  const { source } = received.data;
  return platform.limits(settings, { source, order: order && 'skip' in order ? undefined : order });
}
