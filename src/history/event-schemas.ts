import { conversionSchemas } from '../conversions/conversion.schemas.js';
import { deliverySchemas } from '../delivery/delivery.schemas.js';
import type { EventSchema } from '../log/event-schema.js';
import { outboundSchemas } from '../outbound/outbound.schemas.js';
import { authSchemas, siteSchemas } from '../sites/site.schemas.js';
import { visitorSchemas } from '../visitors/visitor.schemas.js';

/** Every event there is, by type. A room that has events of its own adds its schemas here. */
export const EVENT_SCHEMAS: Readonly<Record<string, EventSchema>> = {
  ...conversionSchemas,
  ...deliverySchemas,
  ...siteSchemas,
  ...authSchemas,
  ...visitorSchemas,
  ...outboundSchemas,
};
