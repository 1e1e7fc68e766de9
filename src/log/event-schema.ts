/** A part of JSON Schema, draft 2020-12: as much of it as describes events. */
export interface JsonSchema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly format?: string;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: JsonSchema;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | JsonSchema;
}

type RequiredName<Data> = { [Name in keyof Data]-?: object extends Pick<Data, Name> ? never : Name }[keyof Data];

/**
 * The schema of an event's data. The compiler keeps it with the TypeScript type: every field of the one is in the other,
 * and what the type demands is required. What the fields hold is compared with real events by the tests.
 */
export interface DataSchema<Data> extends Omit<JsonSchema, 'properties' | 'required'> {
  readonly type: 'object';
  readonly properties: { readonly [Name in keyof Required<Data>]: JsonSchema };
  readonly required: readonly (RequiredName<Data> & string)[];
  readonly additionalProperties: false;
}

/** What an event means, and what is in it. */
export interface EventSchema {
  readonly summary: string;
  readonly data: JsonSchema;
}

/** The schemas of a union of events: none of its types may be missing. */
export type SchemasOf<Event extends { type: string; data: object }> = {
  readonly [Type in Event['type']]: {
    readonly summary: string;
    readonly data: DataSchema<Extract<Event, { type: Type }>['data']>;
  };
};

export const uuid: JsonSchema = { type: 'string', format: 'uuid' };
export const position: JsonSchema = { type: 'integer', minimum: 0, description: 'A position in the log.' };
export const time: JsonSchema = { type: 'string', format: 'date-time' };
