import { hash } from 'node:crypto';
import type { Conversion, Visit } from '../conversion.js';
import { customFields, mappedEvent } from '../event-mapping.js';
import { pageAddress } from '../page-address.js';
import type { Payload, Settings } from '../platform.js';

const EVENTS: ReadonlyMap<string, string> = new Map([
  ['purchase', 'Order Completed'],
  ['signup', 'Signed Up'],
]);

const LIBRARY = { name: 'clean-conversions', version: '1' };

export function payload(conversion: Conversion, settings: Settings): Payload {
  const { event, value, visit } = conversion;
  return {
    item: {
      type: 'track',
      messageId: messageId(conversion),
      userId: conversion.hashes.subject,
      anonymousId: visit?.visitorId || undefined,
      event: mappedEvent(settings, event) ?? EVENTS.get(event) ?? event,
      timestamp: new Date(conversion.timeMs).toISOString(),
      properties: {
        ...customFields(settings, conversion),
        order_id: conversion.orderId,
        revenue: event === 'purchase' ? value : undefined,
        value,
        currency: value === undefined ? undefined : conversion.currency,
      },
      context: visit === undefined ? { library: LIBRARY } : contextOf(visit),
    },
  };
}

/**
 * Segment compares it with those of all its customers: an order number alone would meet a stranger's. The event id is
 * in it because an operator who sends a conversion again on purpose gives it another one.
 */
function messageId({ id, eventId }: Conversion): string {
  return `cc-${id}-${hash('sha256', eventId).slice(0, 16)}`;
}

function contextOf(visit: Visit): object {
  return {
    ip: visit.ip || undefined,
    userAgent: visit.userAgent || undefined,
    page: pageOf(visit),
    campaign: campaignOf(visit.utm),
    library: LIBRARY,
  };
}

function pageOf(visit: Visit): object | undefined {
  const url = pageAddress(visit.pageUrl);
  const referrer = pageAddress(visit.referrer);
  return url === undefined && referrer === undefined ? undefined : { url, referrer };
}

/** `utm_campaign` is its name; the others keep theirs. */
function campaignOf({ campaign, ...others }: Visit['utm']): object | undefined {
  const fields = campaign ? { name: campaign, ...others } : others;
  return Object.keys(fields).length === 0 ? undefined : fields;
}
