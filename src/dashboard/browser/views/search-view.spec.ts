import { conversionHit, lookupsOf } from './search-view.js';

const ID = '01a1e5b9-3fea-7b69-abe9-1a3f1faf7078';

describe('the search for anything', () => {
  it.each([
    ['', {}],
    [` ${ID.toUpperCase()} `, { conversion: ID }],
    [' Jane@Example.com ', { email: 'jane@example.com' }],
    ['jane@', {}],
    ['order of jane@example.com', {}],
    ['jane%40example.com', {}],
    ['+49 30 901820', { phone: '+49 30 901820', order: '+49 30 901820' }],
    ['100482', { order: '100482' }],
    ['ORD-1', { order: 'ORD-1' }],
    ['Cj0KCQjw-example', { clickId: 'Cj0KCQjw-example', order: 'Cj0KCQjw-example' }],
    ['a'.repeat(1_001), {}],
  ])('takes %j for what it may be, and sends no email', (text, lookups) => {
    expect(lookupsOf(text)).toEqual(lookups);
  });

  it('says what a hit is', () => {
    const conversion = {
      conversionId: ID,
      orderId: 'ORD-1',
      event: 'purchase',
      status: 'received' as const,
      deliveries: [{ platform: 'meta', status: 'failed' }],
    };
    expect(conversionHit('shop.example', conversion, 'email')).toEqual({
      ...{ kind: 'conversion', title: 'Order ORD-1', detail: 'purchase · 0 of 1 delivered, 1 refused · by email' },
      path: `/sites/shop.example/conversions/${ID}`,
    });
    const { orderId: _, ...unnamed } = conversion;
    expect(conversionHit('shop.example', { ...unnamed, status: 'deduplicated' }, 'id')).toMatchObject({
      ...{ title: 'Conversion 1a3f1faf7078', detail: 'purchase · duplicate' },
    });
  });
});
