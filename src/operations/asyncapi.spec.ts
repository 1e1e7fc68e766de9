import { asyncApiDocument } from './asyncapi.js';

describe('AsyncAPI document', () => {
  it('describes a key without its hash, which is not published', () => {
    const { schemas } = asyncApiDocument().components as { schemas: Record<string, object> };
    expect(schemas['site.key_issued.v1']).toMatchObject({ required: ['keyId', 'name', 'prefix', 'trial'] });
    expect(JSON.stringify(schemas['site.key_issued.v1'])).not.toContain('hash');
  });

  it('has the schema that the header ce_dataschema of a record names', () => {
    const { schemas } = asyncApiDocument().components as { schemas: Record<string, object> };
    expect(schemas['conversion.received.v1']).toHaveProperty(
      '$id',
      'urn:clean-conversions:event:conversion.received.v1',
    );
  });
});
