import fc from 'fast-check';
import { escapeFormula, unescapeFormula } from './formulas.js';

describe('the text of a cell in a CSV file', () => {
  it.each(['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '\n=1', '＝1', "'=1", "''@x"])(
    'has an apostrophe before %j',
    (text) => {
      expect(escapeFormula(text)).toBe(`'${text}`);
    },
  );

  it.each(['', 'ORD-1', '1-1', "O'Neill", "'quoted'", ' =1', '{"a":1}'])('is %j as it is', (text) => {
    expect(escapeFormula(text)).toBe(text);
  });

  it('can be read back, whatever it is', () => {
    const text = fc.string({ unit: fc.constantFrom("'", '=', '+', '-', '@', '\t', '\r', '\n', '＝', 'a', ' ', '"') });
    fc.assert(fc.property(text, (each) => expect(unescapeFormula(escapeFormula(each))).toBe(each)));
  });
});
