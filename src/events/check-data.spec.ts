import { Ajv } from 'ajv';
import fc from 'fast-check';
import type * as z from 'zod/mini';
import { checkData } from './check-data.js';
import { IMPORT_KEY_ID } from './conversion.events.js';
import { EVENT_SCHEMAS, type EventType } from './index.js';
import { jsonSchemaOf } from './json-schema.js';

type JsonSchema = z.core.JSONSchema.JSONSchema;

const ajv = new Ajv({
  strict: false,
  formats: {
    uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i,
    'date-time': /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/,
    date: /^\d{4}-\d\d-\d\d$/,
  },
});

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom('2025-03-01T10:00:00.000Z', '2025-03-01', 'meta', 'EUR', 'ab'.repeat(32), 'granted', -1, 0.5, true),
);

/** Values that satisfy the schema, or differ from it in places. */
function valuesOf(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { type, properties, additionalProperties, items, anyOf } = schema;
  if ('const' in schema) return mostly(fc.constant(schema.const));
  if (anyOf) return mostly(fc.oneof(...anyOf.map((each) => valuesOf(each as JsonSchema))));
  if (schema.enum) return mostly(fc.constantFrom(...schema.enum));
  if (schema.pattern) return mostly(fc.stringMatching(new RegExp(schema.pattern)));
  if (schema.format === 'uuid') return mostly(fc.uuid());
  if (type === 'array' && items) return mostly(fc.array(valuesOf(items as JsonSchema), { maxLength: 2 }));
  if (type === 'object' && properties) {
    const fields = Object.fromEntries(
      Object.entries(properties).map(([name, each]) => [name, valuesOf(each as JsonSchema)]),
    );
    return mostly(fc.record(fields, { requiredKeys: [] }), fc.record({ ...fields, more: anything }));
  }
  if (type === 'object') return mostly(fc.dictionary(fc.string(), valuesOf(additionalProperties as JsonSchema)));
  if (type === 'integer') return mostly(fc.integer());
  if (type === 'number') return mostly(fc.integer({ min: -5, max: 500 }));
  if (type === 'boolean') return mostly(fc.boolean());
  if (type === 'null') return mostly(fc.constant(null));
  return mostly(fc.string());
}

function mostly(valid: fc.Arbitrary<unknown>, other: fc.Arbitrary<unknown> = anything): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: valid }, { weight: 1, arbitrary: other });
}

const TYPES = Object.keys(EVENT_SCHEMAS) as EventType[];
const CONVERSION_ID = 'c0ffee00-0000-7000-8000-000000000001';
const CONVERSION = {
  conversionId: CONVERSION_ID,
  event: 'lead',
  currency: 'EUR',
  trial: false,
  keyId: CONVERSION_ID,
};
const REJECTIONS = { since: '2025-03-01T10:00:00.000Z', count: 1, reasons: {}, sample: [] };

describe('validation of events', () => {
  it.each(TYPES)('of %s accepts what a JSON Schema validator accepts', (type) => {
    const schema = jsonSchemaOf(type) as JsonSchema;
    const expected = ajv.compile(schema);
    const property = fc.property(valuesOf(schema), (value) => {
      const json = JSON.parse(JSON.stringify(value));
      expect(checkData(type, json) === undefined).toBe(expected(json));
    });
    fc.assert(property, { seed: 14, numRuns: 60 });
  });

  it.each([
    [{ ...CONVERSION, keyId: undefined }, 'data.keyId is missing'],
    [{ ...CONVERSION, currency: 'secret' }, 'data.currency does not have the required format'],
    [{ ...CONVERSION, occurredAt: 'secret' }, 'data.occurredAt does not have the required format'],
    [{ ...CONVERSION, value: -1 }, 'data.value is less than 0'],
    [{ ...CONVERSION, value: '12' }, 'data.value is not of type number'],
    [{ ...CONVERSION, botVisitors: '12' }, 'data.botVisitors is not of type integer'],
    [{ ...CONVERSION, botVisitors: 1.5 }, 'data.botVisitors is not of type integer'],
    [{ ...CONVERSION, bot: { score: 101, reasons: [], list: '' } }, 'data.bot.score is more than 100'],
    [{ ...CONVERSION, source: 'secret' }, 'data.source is not one of the allowed values'],
    [{ ...CONVERSION, source: 12 }, 'data.source is not of type string'],
    [{ ...CONVERSION, matched: false }, 'data.matched is not true'],
    [{ ...CONVERSION, matched: 'secret' }, 'data.matched is not of type boolean'],
    [{ ...CONVERSION, platforms: ['meta', 'My Space'] }, 'data.platforms[1] does not have the required format'],
    [{ ...CONVERSION, secret: 1 }, 'data has an unknown field'],
    [[], 'data is not of type object'],
  ])('of %j names the field and never its value', (data, wrong) => {
    expect(checkData('conversion.received.v1', JSON.parse(JSON.stringify(data)))).toBe(wrong);
  });

  it.each([
    ['[]', 'data.reasons is not of type object'],
    ['{"email":"secret"}', 'data.reasons.email is not of type integer'],
    ['{"__proto__":"secret"}', 'data.reasons has an unknown field'],
  ])('checks the values of %s, whose names are free', (reasons, wrong) => {
    expect(checkData('inbound.rejected.v1', { ...REJECTIONS, reasons: JSON.parse(reasons) })).toBe(wrong);
  });

  it('accepts ids of any version and case, and times with any fraction of a second and an offset', () => {
    for (const keyId of [IMPORT_KEY_ID, CONVERSION_ID.toUpperCase(), CONVERSION_ID.replace('7000-8', '0000-0')])
      expect(checkData('conversion.received.v1', { ...CONVERSION, keyId })).toBeUndefined();
    for (const occurredAt of ['2025-03-01T10:00:00Z', '2025-03-01T10:00:00.1234567Z', '2025-03-01T10:00:00.000+02:00'])
      expect(checkData('conversion.received.v1', { ...CONVERSION, occurredAt })).toBeUndefined();
  });

  it('stops at the first fault of a list, which an event of another log may have hundreds of thousands of', () => {
    const wrongWith = (platforms: unknown[]) => checkData('conversion.received.v1', { ...CONVERSION, platforms });
    expect(wrongWith(Array(200_000).fill(0))).toBe('data.platforms[0] is not of type string');
    expect(wrongWith(Array(200_000).fill(''))).toBe('data.platforms[0] does not have the required format');
    const reasons = Object.fromEntries(Array.from({ length: 200_000 }, (_, index) => [`name ${index}`, '']));
    expect(checkData('inbound.rejected.v1', { ...REJECTIONS, reasons })).toBe('data has too many faults');
  });
});

it('The JSON Schema of an event has formats without their patterns, and integers without the range of safe ones', () => {
  const { properties } = jsonSchemaOf('conversion.received.v1');
  expect(properties).toMatchObject({
    conversionId: {
      type: 'string',
      format: 'uuid',
      description: 'Id of the conversion. Its stream is conversion-<conversionId>.',
    },
    occurredAt: { type: 'string', format: 'date-time' },
    botVisitors: { type: 'integer', minimum: 1 },
  });
  expect(JSON.stringify(TYPES.map(jsonSchemaOf))).not.toMatch(
    /"format":"[\w-]+","pattern"|"pattern":"[^"]+","format"|9007199254740991|propertyNames|\$schema/,
  );
});
