import * as fc from 'fast-check';
import type { InboundFields } from '../inbound-field.js';
import { readItems } from './items.js';

function read(sent: unknown, isStrict: boolean) {
  const fields: Pick<InboundFields, 'items'> = {};
  const result = readItems(sent, fields, { isStrict });
  return { items: fields.items, result };
}

describe('readItems', () => {
  it('keeps known fields only, and drops empty ones', () => {
    expect(
      read(
        [
          { id: 'SKU-1', name: 'Shoe', quantity: 2, price: 64.95, category: 'Shoes', color: 'red' },
          { id: 9_007_199_254_740_991, name: '', quantity: null, price: null, category: null },
        ],
        true,
      ).items,
    ).toStrictEqual([
      { id: 'SKU-1', name: 'Shoe', quantity: 2, price: 64.95, category: 'Shoes' },
      { id: '9007199254740991' },
    ]);
  });

  it.each([
    ['items must be a list of at most 100 items', {}],
    ['items must be a list of at most 100 items', Array.from({ length: 101 }, () => ({ id: '1' }))],
    ['items[1] must be an object with an id', [{ id: '1' }, 'SKU-1']],
    ['items[0] must be an object with an id', [null]],
    ['items[0] must be an object with an id', [[]]],
    ['items[0].id must be 1 to 255 characters', [{}]],
    ['items[0].id must be 1 to 255 characters', [{ id: ' ' }]],
    ['items[0].id must be 1 to 255 characters', [{ id: 1.5 }]],
    ['items[0].id must be 1 to 255 characters', [{ id: 2 ** 53 }]],
    ['items[0].id must be 1 to 255 characters', [{ id: 'x'.repeat(256) }]],
    ['items[0].name must be text of at most 255 characters', [{ id: '1', name: 5 }]],
    ['items[0].category must be text of at most 255 characters', [{ id: '1', category: '😀'.repeat(256) }]],
    ['items[0].quantity must be a whole number from 1 to 1000000', [{ id: '1', quantity: 0 }]],
    ['items[0].quantity must be a whole number from 1 to 1000000', [{ id: '1', quantity: 1.5 }]],
    ['items[0].quantity must be a whole number from 1 to 1000000', [{ id: '1', quantity: '1' }]],
    ['items[0].price must be a non-negative number', [{ id: '1', price: -1 }]],
    ['items[0].price must be a non-negative number', [{ id: '1', price: '5' }]],
  ])('answers %s', (error, sent) => {
    expect(read(sent, true)).toEqual({ items: undefined, result: error });
  });

  it('uses what can be used of an item, and drops the rest', () => {
    const sent = [
      { id: '1', price: '12.5', quantity: '2', name: 5 },
      'SKU',
      { id: '2', price: '1,50' },
      { id: '3', price: '' },
    ];
    expect(read(sent, false)).toEqual({
      items: [{ id: '1', price: 12.5, quantity: 2 }, { id: '2' }, { id: '3' }],
      result: [
        'items[0].name must be text of at most 255 characters: dropped',
        'items[1] must be an object with an id: dropped',
        'items[2].price must be a non-negative number: dropped',
      ],
    });
  });

  it('keeps the first hundred items, and names three faults', () => {
    const { items, result } = read(
      Array.from({ length: 102 }, (_, index) => ({ id: String(index), name: index < 5 ? 5 : 'x' })),
      false,
    );
    expect(items).toHaveLength(100);
    expect(result).toEqual([
      'items must be a list of at most 100 items: the others are dropped',
      ...[0, 1, 2].map((index) => `items[${index}].name must be text of at most 255 characters: dropped`),
      'items has 2 more such faults: dropped',
    ]);
  });

  it('handles every JSON value and never quotes it', () => {
    const secret = 'jane@example.com';
    const value = fc.oneof(fc.constant(secret), fc.jsonValue(), fc.double());
    const item = fc.record(
      { id: value, name: value, quantity: value, price: value, category: value, [secret]: value },
      { requiredKeys: [], noNullPrototype: true },
    );
    return fc.assert(
      fc.property(fc.oneof(value, fc.array(fc.oneof(item, value))), (sent) => {
        const { items = [], result } = read(sent, false);
        expect(JSON.stringify(result ?? '')).not.toContain(secret);
        for (const { id, quantity = 1 } of items) expect([id.length > 0, quantity >= 1]).toEqual([true, true]);
      }),
      { seed: 20_261_116, numRuns: 500 },
    );
  });
});
