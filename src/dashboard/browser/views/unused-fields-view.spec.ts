import { unusedFieldRows } from './unused-fields-view.js';

describe('the rows of fields that were not used', () => {
  it('say what to do about each, the most frequent first', () => {
    const rows = unusedFieldRows([
      { field: 'country', dropped: 3, unknown: 0 },
      { field: 'order_id', dropped: 0, unknown: 40, use: 'orderId' },
      { field: 'other', dropped: 0, unknown: 7 },
    ]);
    expect(rows.map(({ name, isCode, conversions }) => [name, isCode, conversions])).toEqual([
      ['order_id', true, 40],
      ['Other names', false, 7],
      ['country', true, 3],
    ]);
    expect(rows.map(({ advice }) => advice)).toEqual([
      'No field has this name: send orderId',
      expect.stringMatching(/^No fields: X-CC-Warning/),
      expect.stringMatching(/^Not valid as sent/),
    ]);
  });
});
