import { Ajv } from 'ajv';
import fc from 'fast-check';
import type { JsonSchema } from './event-schema.js';
import { EVENT_SCHEMAS } from './index.js';
import { compileSchema } from './validate.js';

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
  const { type, properties, items } = schema;
  if ('const' in schema) return mostly(fc.constant(schema.const));
  if (schema.enum) return mostly(fc.constantFrom(...schema.enum));
  if (schema.pattern) return mostly(fc.stringMatching(new RegExp(schema.pattern)));
  if (schema.format === 'uuid') return mostly(fc.uuid());
  if (type === 'array' && items) return mostly(fc.array(valuesOf(items), { maxLength: 2 }));
  if (type === 'object' && properties) {
    const fields = Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, valuesOf(each)]));
    return mostly(fc.record(fields, { requiredKeys: [] }), fc.record({ ...fields, more: anything }));
  }
  if (type === 'integer') return mostly(fc.integer());
  if (type === 'number') return mostly(fc.integer({ min: -5, max: 500 }));
  if (type === 'boolean') return mostly(fc.boolean());
  return mostly(fc.string());
}

function mostly(valid: fc.Arbitrary<unknown>, other: fc.Arbitrary<unknown> = anything): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: valid }, { weight: 1, arbitrary: other });
}

describe('validation of events', () => {
  it.each(Object.entries(EVENT_SCHEMAS))('of %s accepts what a JSON Schema validator accepts', (_, { data }) => {
    const [expected, actual] = [ajv.compile(data), compileSchema(data)];
    const property = fc.property(valuesOf(data), (value) => {
      const json = JSON.parse(JSON.stringify(value));
      expect(actual(json, 'data') === undefined).toBe(expected(json));
    });
    fc.assert(property, { seed: 14, numRuns: 60 });
  });

  it('names the field and never its value', () => {
    const validate = compileSchema(EVENT_SCHEMAS['conversion.received.v1'].data);
    const valid = {
      conversionId: 'c0ffee00-0000-7000-8000-000000000001',
      event: 'lead',
      currency: 'EUR',
      trial: false,
    };
    const data = { ...valid, keyId: valid.conversionId };
    expect(validate(data, 'data')).toBeUndefined();
    expect(validate(valid, 'data')).toBe('data.keyId is missing');
    expect(validate({ ...data, currency: 'secret' }, 'data')).toBe('data.currency does not have the required format');
    expect(validate({ ...data, value: -1 }, 'data')).toBe('data.value is less than 0');
    expect(validate({ ...data, value: '12' }, 'data')).toBe('data.value is not of type number');
    expect(validate({ ...data, platforms: ['meta', 'myspace'] }, 'data')).toBe(
      'data.platforms[1] does not have the required format',
    );
    expect(validate({ ...data, secret: 1 }, 'data')).toBe('data has an unknown field');
    expect(validate([], 'data')).toBe('data is not of type object');
  });

  it('refuses a schema that it cannot evaluate', () => {
    expect(() => compileSchema({ type: 'strin' })).toThrow('Unknown type strin');
    expect(() => compileSchema({ format: 'ipv4' })).toThrow('Unknown format ipv4');
  });
});
