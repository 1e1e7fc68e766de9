import { createRequire } from 'node:module';
import fc from 'fast-check';
import { encodeRecord, type KafkaRecord } from './record-encoder.js';

const encodeWithKafkajs = createRequire(import.meta.url)('kafkajs/src/protocol/recordBatch/record/v0/index.js') as (
  record: KafkaRecord,
) => { buffer: Buffer };

describe('encodeRecord', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ minLength: 100, maxLength: 40_000 }),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );
  const header = fc.oneof(text, fc.array(text, { maxLength: 3 }));

  it('writes the same bytes as kafkajs', () => {
    const records = fc.record({
      offsetDelta: fc.nat(),
      key: fc.option(text),
      value: fc.option(text),
      headers: fc.dictionary(fc.string({ unit: 'binary' }), header, { maxKeys: 12 }),
    });
    fc.assert(
      fc.property(records, (record) => {
        expect(encodeRecord(record).buffer.equals(encodeWithKafkajs(record).buffer)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('writes the same bytes as kafkajs for an empty record', () => {
    expect(encodeRecord({ value: null }).buffer).toEqual(encodeWithKafkajs({ value: null }).buffer);
  });

  it('does not change the buffer of an earlier record', () => {
    const first = encodeRecord({ value: 'first' }).buffer;
    const copy = Buffer.from(first);
    encodeRecord({ value: 'x'.repeat(100_000) });
    expect(first).toEqual(copy);
  });
});
