import type { JsonSchema } from './event-schema.js';

/** Returns what is wrong with a value, without the value itself; undefined if it is valid. */
export type Validator = (value: unknown, path: string) => string | undefined;

type Fields = Readonly<Record<string, unknown>>;

const FORMATS: Readonly<Record<string, RegExp>> = {
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
  'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
  date: /^\d{4}-\d\d-\d\d$/,
};

const TYPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  null: (value) => value === null,
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/** A validator for the subset of JSON Schema that describes events. Built once per schema: the log has millions of events. */
export function compileSchema(schema: JsonSchema): Validator {
  const rules = [...ruleOfType(schema), ...rulesOfValue(schema), ...rulesOfItems(schema), ...rulesOfFields(schema)];
  return (value, path) => {
    for (const rule of rules) {
      const wrong = rule(value, path);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
}

function ruleOfType({ type }: JsonSchema): Validator[] {
  if (type === undefined) return [];
  const names = typeof type === 'string' ? [type] : type;
  const tests = names.map((name) => {
    const test = TYPES[name];
    if (!test) throw new Error(`Unknown type ${name} in a schema`);
    return test;
  });
  return [
    (value, path) => (tests.some((test) => test(value)) ? undefined : `${path} is not of type ${names.join(' or ')}`),
  ];
}

function rulesOfValue(schema: JsonSchema): Validator[] {
  const { const: constant, enum: allowed, minimum, maximum, pattern, format } = schema;
  const rules: Validator[] = [];
  const add = (isValid: (value: unknown) => boolean, wrong: string) =>
    rules.push((value, path) => (isValid(value) ? undefined : `${path} ${wrong}`));
  if ('const' in schema) add((value) => value === constant, `is not ${JSON.stringify(constant)}`);
  if (allowed) {
    const values = new Set(allowed);
    add((value) => values.has(value), 'is not one of the allowed values');
  }
  if (minimum !== undefined) add((value) => typeof value !== 'number' || value >= minimum, `is less than ${minimum}`);
  if (maximum !== undefined) add((value) => typeof value !== 'number' || value <= maximum, `is more than ${maximum}`);
  const patterns = [...(pattern === undefined ? [] : [new RegExp(pattern, 'u')]), ...formatPattern(format)];
  for (const expected of patterns)
    add((value) => typeof value !== 'string' || expected.test(value), 'does not have the required format');
  return rules;
}

function formatPattern(format: string | undefined): RegExp[] {
  if (format === undefined) return [];
  const expected = FORMATS[format];
  if (!expected) throw new Error(`Unknown format ${format} in a schema`);
  return [expected];
}

function rulesOfItems({ items }: JsonSchema): Validator[] {
  if (!items) return [];
  const item = compileSchema(items);
  const rule: Validator = (value, path) => {
    if (!Array.isArray(value)) return undefined;
    for (const [index, each] of value.entries()) {
      const wrong = item(each, `${path}[${index}]`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
  return [rule];
}

function rulesOfFields({ properties = {}, required = [], additionalProperties = true }: JsonSchema): Validator[] {
  const known = new Map(Object.entries(properties).map(([name, schema]) => [name, compileSchema(schema)]));
  const others = typeof additionalProperties === 'object' ? compileSchema(additionalProperties) : undefined;
  if (known.size === 0 && required.length === 0 && additionalProperties === true) return [];
  const rule: Validator = (value, path) => {
    if (!TYPES['object']?.(value)) return undefined;
    const fields = value as Fields;
    for (const name of required) if (!Object.hasOwn(fields, name)) return `${path}.${name} is missing`;
    for (const name in fields) {
      const validator = known.get(name) ?? others;
      if (!validator && additionalProperties === false) return `${path} has an unknown field`;
      const wrong = validator?.(fields[name], `${path}.${name}`);
      if (wrong !== undefined) return wrong;
    }
    return undefined;
  };
  return [rule];
}
