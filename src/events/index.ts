import { authEvents } from './auth.events.js';
import { conversionEvents } from './conversion.events.js';
import { deliveryEvents } from './delivery.events.js';
import type { EventDeclaration, EventsOf } from './event-declaration.js';
import { inboundEvents } from './inbound.events.js';
import { logEvents } from './log.events.js';
import { outboundEvents } from './outbound.events.js';
import { siteEvents } from './site.events.js';
import { userEvents } from './user.events.js';
import { visitorEvents } from './visitor.events.js';

const declarations = {
  ...conversionEvents,
  ...deliveryEvents,
  ...siteEvents,
  ...authEvents,
  ...visitorEvents,
  ...inboundEvents,
  ...outboundEvents,
  ...userEvents,
  ...logEvents,
};

/** Every event in the log, as a union discriminated by `type`. */
export type DomainEvent = EventsOf<typeof declarations>;

export type EventType = DomainEvent['type'];

/** The event types of a category: `conversion` has `conversion.received.v1` and others. */
export type TypesOf<Category extends string> = Extract<EventType, `${Category}.${string}`>;

/** Schemas of every event, by type. */
export const EVENT_SCHEMAS: Readonly<Record<EventType, EventDeclaration>> = declarations;
