import { stripVTControlCharacters } from 'node:util';
import { table } from './table.js';

const ID = '01980000-0000-7000-8000-000000000000';
const rows = [
  { name: 'Shop backend', state: 'parked', reason: 'the access token has expired and must be replaced', id: ID },
  { name: 'Import', state: 'active', reason: undefined, id: ID },
];
const columns = {
  NAME: ({ name }: (typeof rows)[number]) => name,
  STATE: ({ state }: (typeof rows)[number]) => state,
  REASON: ({ reason }: (typeof rows)[number]) => reason,
  ID: ({ id }: (typeof rows)[number]) => id,
};
const linesWithin = (width: number | undefined) =>
  table(rows, columns, { hasColours: false, width }).trimEnd().split('\n');

describe('table', () => {
  it('has one line per row and cuts nothing without a width', () => {
    expect(linesWithin(undefined)).toEqual([
      `NAME          STATE   REASON                                             ID`,
      `Shop backend  parked  the access token has expired and must be replaced  ${ID}`,
      `Import        active  -                                                  ${ID}`,
    ]);
  });

  it('wraps cells between words to fit the width', () => {
    const lines = linesWithin(90);
    expect(lines).toEqual([
      `NAME          STATE   REASON                          ID`,
      `Shop backend  parked  the access token has expired    ${ID}`,
      `                      and must be replaced`,
      `Import        active  -                               ${ID}`,
    ]);
    for (let width = 72; width < 130; width += 1) {
      expect([width, Math.max(...linesWithin(width).map((line) => line.length)) <= width]).toEqual([width, true]);
      expect(linesWithin(width).filter((line) => line.includes(ID))).toHaveLength(2);
    }
  });

  it('shows each row as a card where the longest words do not fit side by side', () => {
    expect(linesWithin(60)).toEqual([
      'NAME    Shop backend',
      'STATE   parked',
      'REASON  the access token has expired and must be replaced',
      `ID      ${ID}`,
      '',
      'NAME    Import',
      'STATE   active',
      'REASON  -',
      `ID      ${ID}`,
    ]);
  });

  it('colours the header and states, and aligns columns as without colours', () => {
    const coloured = table(rows, columns, { hasColours: true });
    expect(coloured).toContain('\u001b[1mNAME\u001b[22m');
    expect(coloured).toContain('\u001b[31mparked\u001b[39m');
    expect(coloured).toContain('\u001b[32mactive\u001b[39m');
    expect(stripVTControlCharacters(coloured)).toBe(table(rows, columns));
  });

  it('takes more rows than a call takes arguments', () => {
    const many = Array.from({ length: 200_000 }, (_, at) => at);
    expect(table(many, { AT: (at) => at }, { hasColours: false, width: 80 }).length).toBeGreaterThan(1e6);
  });
});
