import type { Conversion } from '../conversion.js';
import { customObject, mappedEvent } from '../event-mapping.js';
import { isLimited, withoutQuery } from '../payload-fields.js';
import { digestOf } from '../personal-hashes.js';
import type { Payload, Settings, Skip } from '../platform.js';
import { allowsAmount, eventType, isEventName } from './event-type.js';

const EVENTS: ReadonlyMap<string, string> = new Map([
  ['purchase', 'PURCHASE'],
  ['lead', 'LEAD'],
  ['signup', 'SIGN_UP'],
]);

export function payload(conversion: Conversion, settings: Settings): Payload | Skip {
  const { event, value, visit } = conversion;
  const name = mappedEvent(settings, event) ?? EVENTS.get(event) ?? event;
  if (!isEventName(name)) return { skip: 'event_not_mapped' };
  const clickId = visit?.clicks.rdt_cid?.id || undefined;
  const user = userOf(conversion, settings);
  if (clickId === undefined && !isIdentified(user)) return { skip: 'no_identifier' };
  const type = eventType(name);
  const amount = value !== undefined && allowsAmount(type);
  return {
    item: {
      event_at: conversion.timeMs,
      action_source: visit === undefined ? 'OTHER' : 'WEBSITE',
      event_source_url: withoutQuery(visit?.pageUrl),
      click_id: clickId,
      type,
      user,
      metadata: {
        ...customObject(settings, conversion),
        conversion_id: conversion.eventId,
        currency: amount ? conversion.currency : undefined,
        value: amount ? value : undefined,
      },
    },
  };
}

interface User {
  readonly email: string | undefined;
  readonly phone_number: string | undefined;
  readonly uuid: string | undefined;
  readonly ip_address: string | undefined;
  readonly user_agent: string | undefined;
  readonly data_processing_options: { readonly modes: readonly string[] } | undefined;
}

function userOf(conversion: Conversion, settings: Settings): User {
  const { hashes, visit } = conversion;
  return {
    email: digestOf(hashes, 'emailBare'),
    phone_number: hashes.phone,
    uuid: visit?.cookies._rdt_uuid || undefined,
    ip_address: visit?.ip || undefined,
    user_agent: visit?.userAgent || undefined,
    // Limited data use, Reddit's opt-out flag.
    data_processing_options: isLimited(conversion, settings) ? { modes: ['LDU'] } : undefined,
  };
}

/** An IP address and a user agent identify a person only together. */
function isIdentified({ email, phone_number, uuid, ip_address, user_agent }: User): boolean {
  if (email !== undefined || phone_number !== undefined || uuid !== undefined) return true;
  return ip_address !== undefined && user_agent !== undefined;
}
