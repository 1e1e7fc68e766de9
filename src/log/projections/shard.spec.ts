import fc from 'fast-check';
import { Partitioners } from 'kafkajs';
import { shardOf } from './shard.js';

describe('shardOf', () => {
  it('assigns a key to the same partition as Kafka clients do', () => {
    const kafka = Partitioners.DefaultPartitioner();
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1 }), fc.integer({ min: 1, max: 64 }), (key, partitions) => {
        const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({ partitionId, leader: 1 }));
        const theirs = kafka({ topic: 't', partitionMetadata, message: { key, value: '' } } as never);
        expect(shardOf(key, partitions)).toBe(theirs);
      }),
    );
  });
});
