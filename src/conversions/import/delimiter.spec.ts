import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { unescapeFormula } from '../../kernel/formulas.js';
import { detectDelimiter, formatRecord, statedDelimiter } from './delimiter.js';

describe('the delimiter of a CSV file', () => {
  it.each([
    ['email,event,value', ','],
    ['email;event;value', ';'],
    ['email\tevent\tvalue', '\t'],
    ['email|event', '|'],
    ['"Name, first";"Name, last";email', ';'],
    ['"a;b;c;d",email', ','],
    ['email', ','],
  ])('of the header %j is %j', (header, delimiter) => {
    expect(detectDelimiter(header)).toBe(delimiter);
  });

  it('is the one that the first line of Excel states', () => {
    expect(statedDelimiter('sep=;')).toBe(';');
    expect(statedDelimiter('"sep=\t"')).toBe('\t');
    expect(statedDelimiter('sep=x')).toBeUndefined();
    expect(statedDelimiter('email;event')).toBeUndefined();
  });

  it('separates fields that a parser reads back unchanged', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ' ', '"', ';', ',', '\t', '\n', '\r', 'ü') });
    fc.assert(
      fc.property(
        fc.array(cell, { minLength: 2 }),
        fc.constantFrom(',' as const, ';' as const, '\t' as const),
        (cells, mark) => {
          const [read] = parse(`${formatRecord(['x', ...cells], mark)}\n`, { delimiter: mark, relax_quotes: true });
          expect((read as unknown as string[]).map(unescapeFormula)).toEqual(['x', ...cells]);
        },
      ),
      { seed: 16 },
    );
  });
});
