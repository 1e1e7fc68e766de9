import { hash } from 'node:crypto';
import type { Conversion, Visit } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { withholdsPersonal, withoutQuery } from '../payload-fields.js';
import type { Payload, Settings, Skip } from '../platform.js';

const EVENTS: ReadonlyMap<string, string> = new Map([
  ['purchase', 'Order Completed'],
  ['signup', 'Signed Up'],
]);

const LIBRARY = { name: 'clean-conversions', version: '1' };

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const { event, value } = conversion;
  // Segment forwards to other platforms, and has no field for an opt-out.
  const isAnonymous = withholdsPersonal(conversion);
  if (isAnonymous && settings['when_denied'] === 'skip') return { skip: 'consent_denied' };
  const visit = isAnonymous ? undefined : conversion.visit;
  return {
    item: {
      type: 'track',
      messageId: messageId(conversion),
      userId: isAnonymous ? undefined : conversion.hashes.subject,
      anonymousId: isAnonymous ? conversion.id : visit?.visitorId || undefined,
      event: mappedEvent(settings, event) ?? EVENTS.get(event) ?? event,
      timestamp: new Date(conversion.timeMs).toISOString(),
      properties: {
        ...customObject(settings, conversion),
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
 * Segment deduplicates by it across all of its customers, so an order id alone could collide with another customer's.
 * The event id is included because an operator's deliberate resend has a new one.
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
  const url = withoutQuery(visit.pageUrl);
  const referrer = withoutQuery(visit.referrer);
  return url === undefined && referrer === undefined ? undefined : { url, referrer };
}

/** Segment's name for `utm_campaign` is `name`; the other fields keep their names. */
function campaignOf({ campaign, ...others }: Visit['utm']): object | undefined {
  const fields = campaign ? { name: campaign, ...others } : others;
  return Object.keys(fields).length === 0 ? undefined : fields;
}
