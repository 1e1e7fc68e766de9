import { CONNECTION_NAME_PATTERN } from '../platforms/connection-name.js';

/** The subset of JSON Schema, draft 2020-12, that describes events. */
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
 * The schema of an event's data. The compiler checks it against the TypeScript type: both have the same fields, and every
 * required field is listed. Integration tests compare the values of real events with it.
 */
export interface DataSchema<Data> extends Omit<JsonSchema, 'properties' | 'required'> {
  readonly type: 'object';
  readonly properties: { readonly [Name in keyof Required<Data>]: JsonSchema };
  readonly required: readonly (RequiredName<Data> & string)[];
  readonly additionalProperties: false;
}

export interface EventSchema {
  readonly summary: string;
  readonly data: JsonSchema;
}

/** The schemas of a union of events. The compiler reports a missing type. */
export type SchemasOf<Event extends { type: string; data: object }> = {
  readonly [Type in Event['type']]: {
    readonly summary: string;
    readonly data: DataSchema<Extract<Event, { type: Type }>['data']>;
  };
};

export const connectionName = {
  type: 'string',
  pattern: CONNECTION_NAME_PATTERN,
  description: 'The platform; a further connection of the same platform has a name of its own after a colon.',
} as const satisfies JsonSchema;
export const uuid: JsonSchema = { type: 'string', format: 'uuid' };
export const position: JsonSchema = { type: 'integer', minimum: 0, description: 'Position in the log.' };
export const payloadVersion: JsonSchema = {
  type: 'integer',
  minimum: 1,
  description: 'Version of the payloads that platforms get. Absent: 1.',
};
export const time: JsonSchema = { type: 'string', format: 'date-time' };
export const count: JsonSchema = { type: 'integer', minimum: 0 };
export const strings: JsonSchema = { type: 'array', items: { type: 'string' } };
