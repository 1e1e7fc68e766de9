import * as z from 'zod/mini';
import { EVENT_SCHEMAS, type EventType } from './index.js';

/** Identifies the schema of an event's data. It is a name, not an address: `/docs/asyncapi.json` has the schema as `$id`. */
export function schemaUri(type: string): string {
  return `urn:clean-conversions:event:${type}`;
}

/** The JSON Schema of an event's data. */
export function jsonSchemaOf(type: EventType): z.core.JSONSchema.BaseSchema {
  const { $schema: _, ...schema } = z.toJSONSchema(EVENT_SCHEMAS[type].data, { override: withoutRepetitions });
  return schema;
}

/** Without what zod adds to what the schema says already: patterns of formats, the range of safe integers, the type of names. */
function withoutRepetitions({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  if (jsonSchema.format) delete jsonSchema.pattern;
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  delete jsonSchema.propertyNames;
}
