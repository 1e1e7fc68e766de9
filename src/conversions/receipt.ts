import type { Results } from '../delivery/delivery.js';
import { type ConversionEvent } from '../events/conversion.events.js';

export type Receipt =
  | { readonly ok: true; readonly event: string; readonly results: Results }
  | { readonly ok: true; readonly deduped: true }
  | { readonly ok: true; readonly filtered: true };

/**
 * The response to the POST and to every later GET, with the results at that time. The response to the POST names the event as it
 * was sent.
 */
export function receiptOf(
  opening: Pick<ConversionEvent, 'type' | 'data'>,
  results: Results,
  event = opening.data.event,
): Receipt {
  switch (opening.type) {
    case 'conversion.received.v1':
      return { ok: true, event, results };
    case 'conversion.deduplicated.v1':
      return { ok: true, deduped: true };
    case 'conversion.filtered.v1':
      return { ok: true, filtered: true };
  }
}
