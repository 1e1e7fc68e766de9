import fc from 'fast-check';
import { fieldReader } from './event-fields.js';

const reader = fieldReader('platform');

describe('fieldReader', () => {
  it('reads a string or a list of strings', () => {
    expect(reader('{"conversionId":"c1","platform":"meta","attempt":1}')).toBe('"meta"');
    expect(reader('{ "platform" : "meta" }')).toBe('"meta"');
    expect(reader('{"a":1,"platform":["meta","tiktok"]}')).toBe('["meta","tiktok"]');
  });

  it('ignores the name inside texts and in nested objects', () => {
    expect(reader(JSON.stringify({ response: '{"platform":"x"}' }))).toBeNull();
    expect(reader(JSON.stringify({ bot: { platform: 'x' }, platform: 'meta' }))).toBe('"meta"');
    expect(reader(JSON.stringify({ bot: { platform: 'x' } }))).toBeNull();
    expect(reader('{"event":"purchase"}')).toBeNull();
  });

  it('finds what parsing the whole text finds', () => {
    const value = fc.oneof(fc.string(), fc.array(fc.string()), fc.jsonValue());
    const keys = fc.constantFrom('platform', 'platforms', 'a', '"platform"', 'x"platform', 'b\\');
    fc.assert(
      fc.property(fc.dictionary(keys, value), (data) => {
        const read = reader(JSON.stringify(data));
        const expected = JSON.parse(JSON.stringify(data)).platform;
        expect(read === null ? undefined : JSON.parse(read)).toEqual(expected);
      }),
    );
  });
});
