import { CONVERSION_ID, conversionPath, type Destination } from '../navigation.js';
import { type Conversion, deliveredText } from './conversions-view.js';

/** What a text that was typed may be. */
export interface Lookups {
  readonly conversion?: string;
  /** In the form that is hashed. Neither this nor another form of it is sent. */
  readonly email?: string;
  readonly phone?: string;
  readonly clickId?: string;
  readonly order?: string;
}

const PHONE = /^\+?[\d\s()./-]+$/;
const CLICK_ID = /^[\w.~%-]{15,500}$/;
const ORDER_MAX = 1_000;

/** A text with an @ is not looked for as anything but an email: it would be sent as it is. */
export function lookupsOf(typed: string): Lookups {
  const text = typed.trim();
  if (text === '') return {};
  if (CONVERSION_ID.test(text)) return { conversion: text.toLowerCase() };
  if (/@|%(?:25)*40/.test(text)) return /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text) ? { email: text.toLowerCase() } : {};
  const digits = text.replaceAll(/\D/g, '').length;
  const isPhone = PHONE.test(text) && digits >= 7 && digits <= 15;
  return {
    ...(isPhone && { phone: text }),
    ...(!isPhone && CLICK_ID.test(text) && { clickId: text }),
    ...(text.length <= ORDER_MAX && { order: text }),
  };
}

/** What was found by it. */
export type FoundBy = 'id' | 'order' | 'email' | 'phone' | 'click id';

export function conversionHit(
  site: string,
  {
    conversionId,
    orderId,
    event,
    status,
    deliveries,
  }: Pick<Conversion, 'conversionId' | 'orderId' | 'event' | 'status' | 'deliveries'>,
  by: FoundBy,
): Destination {
  const outcome = status === 'received' ? deliveredText(deliveries) : status === 'filtered' ? 'filtered' : 'duplicate';
  return {
    kind: 'conversion',
    title: orderId === undefined ? `Conversion ${conversionId.slice(-12)}` : `Order ${orderId}`,
    detail: [event, outcome, ...(by === 'id' || by === 'order' ? [] : [`by ${by}`])].join(' · '),
    path: conversionPath(site, conversionId),
  };
}
