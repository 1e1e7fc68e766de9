/** Identifies the schema of an event's data. It is a name, not an address: `/docs/asyncapi.json` has the schema as `$id`. */
export function schemaUri(type: string): string {
  return `urn:clean-conversions:event:${type}`;
}
