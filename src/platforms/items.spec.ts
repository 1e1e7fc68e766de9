import { SAMPLE_CONVERSIONS } from '../../test/support/sample-conversions.js';
import type { Conversion } from './conversion.js';
import { contentFields, hasAmount, unitsIn } from './items.js';

const purchase: Conversion = SAMPLE_CONVERSIONS['hashed-only'];
const withoutValue: Conversion = { ...purchase, value: undefined };

describe('unitsIn', () => {
  it('counts an item without a quantity as one unit', () => {
    expect(unitsIn([{ id: 'a', quantity: 3 }, { id: 'b' }])).toBe(4);
  });
});

describe('hasAmount', () => {
  it('is true with a value or a price, even if it is 0', () => {
    expect(hasAmount(purchase)).toBe(true);
    expect(hasAmount({ ...purchase, value: 0 })).toBe(true);
    expect(hasAmount({ ...withoutValue, items: [{ id: 'a' }, { id: 'b', price: 0 }] })).toBe(true);
    expect(hasAmount({ ...withoutValue, items: [{ id: 'a' }] })).toBe(false);
    expect(hasAmount(withoutValue)).toBe(false);
  });
});

describe('contentFields', () => {
  it('has no field without items', () => {
    expect(contentFields(purchase, (item) => item)).toEqual({});
    expect(contentFields({ ...purchase, items: [] }, (item) => item)).toEqual({});
  });
});
