import {
  batchDigest,
  CHAIN_START,
  canonicalForm,
  chainHead,
  eventDigest,
  personalDigest,
  type SealedEvent,
} from './seals.js';

const EVENT: SealedEvent = {
  position: 7,
  id: '0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10',
  category: 'conversion',
  stream: '0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e11',
  version: 1,
  type: 'conversion.received.v1',
  site: 'shop.example',
  timeMs: 1_767_225_600_000,
  actor: 'system',
  reference: 'ORD-ß',
  data: '{"value":1}',
  personal: null,
};

describe('the canonical form of an event', () => {
  it('has one field per line and the length of each text in bytes', () => {
    expect(canonicalForm(EVENT)).toBe(
      [
        '7',
        '0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e10',
        '10:conversion',
        '0199d2f0-7d3a-7c55-9a51-3f0c2a6b9e11',
        '1',
        '22:conversion.received.v1',
        '12:shop.example',
        '1767225600000',
        '6:system',
        '6:ORD-ß',
        '11:{"value":1}',
        '',
        '',
      ].join('\n'),
    );
  });

  it('differs when any field does, also between an empty reference and none', () => {
    const changes: Partial<SealedEvent>[] = [
      { position: 8 },
      { id: EVENT.stream },
      { category: 'visitor' },
      { stream: EVENT.id },
      { version: 2 },
      { type: 'conversion.received.v2' },
      { site: 'other.example' },
      { timeMs: EVENT.timeMs + 1 },
      { actor: 'cli' },
      { reference: null },
      { reference: '' },
      { reference: 'ORD-ß\n11:{"value":1}', data: '' },
      { data: '{"value":2}' },
      { personal: CHAIN_START },
    ];
    const digests = [EVENT, ...changes.map((change) => ({ ...EVENT, ...change }))].map(eventDigest);
    expect(new Set(digests).size).toBe(changes.length + 1);
  });
});

describe('the chain', () => {
  it('depends on the order of events and on every earlier batch', () => {
    const [one, two] = [eventDigest(EVENT), eventDigest({ ...EVENT, position: 8 })];
    expect(batchDigest([one, two])).not.toBe(batchDigest([two, one]));
    const head = chainHead(CHAIN_START, batchDigest([one]));
    expect(chainHead(head, batchDigest([two]))).not.toBe(chainHead(CHAIN_START, batchDigest([two])));
  });

  it('covers salt, subject and data of a personal part', () => {
    const [salt, subject] = [Buffer.alloc(16, 1), Buffer.alloc(32, 2)];
    const digests = [
      personalDigest(salt, subject, '{}'),
      personalDigest(Buffer.alloc(16, 3), subject, '{}'),
      personalDigest(salt, null, '{}'),
      personalDigest(salt, subject, null),
    ];
    expect(new Set(digests).size).toBe(digests.length);
  });
});
