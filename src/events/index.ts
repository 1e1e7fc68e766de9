import { type AuthEvent, authSchemas } from './auth.events.js';
import { type ConversionEvent, conversionSchemas } from './conversion.events.js';
import { type DeliveryEvent, deliverySchemas } from './delivery.events.js';
import type { EventSchema } from './event-schema.js';
import { type InboundEvent, inboundSchemas } from './inbound.events.js';
import { type LogEvent, logSchemas } from './log.events.js';
import { type OutboundEvent, outboundSchemas } from './outbound.events.js';
import { type SiteEvent, siteSchemas } from './site.events.js';
import { type UserEvent, userSchemas } from './user.events.js';
import { type VisitorEvent, visitorSchemas } from './visitor.events.js';

/** Every event in the log, as a union discriminated by `type`. */
export type DomainEvent =
  | ConversionEvent
  | DeliveryEvent
  | VisitorEvent
  | SiteEvent
  | AuthEvent
  | InboundEvent
  | OutboundEvent
  | UserEvent
  | LogEvent;

export type EventType = DomainEvent['type'];

/** The event types of a category: `conversion` has `conversion.received.v1` and others. */
export type TypesOf<Category extends string> = Extract<EventType, `${Category}.${string}`>;

/** Schemas of every event, by type. */
export const EVENT_SCHEMAS: Readonly<Record<EventType, EventSchema>> = {
  ...conversionSchemas,
  ...deliverySchemas,
  ...siteSchemas,
  ...authSchemas,
  ...visitorSchemas,
  ...inboundSchemas,
  ...outboundSchemas,
  ...userSchemas,
  ...logSchemas,
};
