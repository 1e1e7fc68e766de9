import * as z from 'zod/mini';
import { CONNECTION_NAME_PATTERN, type ConnectionName } from '../platforms/connection-name.js';

/** An event type, declared once: its TypeScript type, its validation and its JSON Schema are derived. */
export interface EventDeclaration<Shape extends z.core.$ZodShape = z.core.$ZodShape, Personal = unknown> {
  readonly summary: string;
  readonly data: z.ZodMiniObject<Shape, z.core.$strict>;
  /** Undefined: the type has no personal part. */
  readonly personal: Personal;
}

export function event<Shape extends z.core.$ZodShape, Personal = undefined>(
  summary: string,
  shape: Shape,
  personal?: Personal,
): EventDeclaration<Shape, Personal> {
  return { summary, data: z.strictObject(shape), personal: personal as Personal };
}

/** The type of a personal part, which is stored beside the data and never published. Its values are not validated. */
export function personal<Part extends object>(): Part {
  return {} as Part;
}

type DeepReadonly<Value> = { readonly [Name in keyof Value]: DeepReadonly<Value[Name]> };

/** The type of a field of an event. */
export type ValueOf<Schema extends z.ZodMiniType> = DeepReadonly<z.output<Schema>>;

/** The type of an object with these fields. */
export type DataOf<Shape extends z.core.$ZodShape> = ValueOf<z.ZodMiniObject<Shape, z.core.$strict>>;

/** The union of the declared events, discriminated by `type`. */
export type EventsOf<Declarations> = {
  [Type in keyof Declarations]: Declarations[Type] extends EventDeclaration<infer Shape, infer Personal>
    ? { type: Type; data: DataOf<Shape> } & (Personal extends object ? { personal: Personal } : unknown)
    : never;
}[keyof Declarations];

/** The schema with a description, which the AsyncAPI document shows. */
export function described<Schema extends z.ZodMiniType>(schema: Schema, description: string): Schema {
  // Not `z.describe`: it is a check, with which zod cannot compile the schema.
  const copy = schema.clone();
  z.globalRegistry.add(copy, { description });
  return copy;
}

export const text = (description: string) => described(z.string(), description);
export const integerFrom = (minimum: number) => z.int().check(z.minimum(minimum));

export const connectionName = described(
  z.string().check(z.regex(new RegExp(CONNECTION_NAME_PATTERN), { abort: true })),
  'The platform; a further connection of the same platform has a name of its own after a colon.',
) as z.ZodMiniType<ConnectionName>;
export const uuid = z.guid();
export const sha256 = z.string().check(z.regex(/^[0-9a-f]{64}$/));
export const position = described(integerFrom(0), 'Position in the log.');
export const siteVersion = described(
  integerFrom(1),
  "Version of the site's stream as of which the settings apply: the same in every cell.",
);
export const settingsPosition = described(
  position,
  'In place of `siteVersion`, in events of versions before 0.3: a position of the log.',
);
export const payloadVersion = described(integerFrom(1), 'Version of the payloads that platforms get. Absent: 1.');
export const time = z.iso.datetime({ offset: true });
export const count = integerFrom(0);
export const amount = z.number().check(z.minimum(0));
export const strings = z.array(z.string());

/** Zod does not look at a field `__proto__` of a record, which JSON may have. */
export const recordOf = <Value>(value: z.ZodMiniType<Value>) =>
  z.pipe(
    z.custom<Record<string, unknown>>(
      (record) => typeof record !== 'object' || record === null || !Object.hasOwn(record, '__proto__'),
    ),
    z.record(z.string(), value),
  );
