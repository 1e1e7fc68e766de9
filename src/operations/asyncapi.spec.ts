import { asyncApiDocument } from './asyncapi.js';

describe('AsyncAPI document', () => {
  it('describes a key without its hash, which is not published', () => {
    const { schemas } = asyncApiDocument().components as { schemas: Record<string, object> };
    expect(schemas['site.key_issued.v1']).toMatchObject({ required: ['keyId', 'name', 'prefix', 'trial'] });
    expect(JSON.stringify(schemas['site.key_issued.v1'])).not.toContain('hash');
  });
});
