import { canonicalText } from '../kernel/canonical-text.js';
import type { LoadedSite } from '../sites/site-directory.js';
import type { InboundFields } from './inbound/inbound-field.js';

/** Whether some connection of the site names the event in `refund_event`. */
export function isCorrection({ connections }: LoadedSite, event: string): boolean {
  const name = canonicalText(event);
  for (const { connection } of connections.values()) if (connection.settings['refund_event'] === name) return true;
  return false;
}

/** What is wrong with a correction; undefined if nothing is, or if the event is none. */
export function correctionProblem(site: LoadedSite, { event, orderId }: InboundFields): string | undefined {
  return orderId === undefined && isCorrection(site, event) ? `orderId is required for ${event}` : undefined;
}
