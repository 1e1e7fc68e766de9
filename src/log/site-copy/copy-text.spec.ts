import fc from 'fast-check';
import { copyLine, parseCopyText } from './copy-text.js';
import { SiteCopyRefused } from './site-copy-errors.js';

const LIMITS = { bytes: 1_000, rows: 3 };

describe('the text format of COPY', () => {
  it('is read as it was written', () => {
    const field = fc.option(
      fc.string({ unit: 'binary' }).map((text) => text.replaceAll('\u0000', '')),
      { nil: null },
    );
    fc.assert(
      fc.property(fc.array(fc.tuple(field, field), { maxLength: 3 }), (rows) => {
        const text = Buffer.from(rows.map(copyLine).join(''));
        expect(parseCopyText(text, 2, { ...LIMITS, bytes: 100_000 })).toEqual(rows);
      }),
    );
  });

  it.each([
    ['an end of the data before the end', 'a\tb\n\\.\nc\td\n'],
    ['the end of the data as a field', '\\.\tb\n'],
    ['another end of a line', 'a\tb\r\n'],
    ['an octal escape', 'a\t\\101\n'],
    ['a hexadecimal escape', 'a\t\\x41\n'],
    ['an escaped letter', 'a\t\\q\n'],
    ['a backslash at the end', 'a\tb\\\n'],
    ['an escaped line break', 'a\tb\\\nc\n'],
    ['a character that COPY escapes', 'a\t\b\n'],
    ['a zero byte', 'a\t\u0000\n'],
    ['null with more behind it', 'a\t\\Nb\n'],
    ['too few columns', 'a\n'],
    ['too many columns', 'a\tb\tc\n'],
    ['an empty line', 'a\tb\n\n'],
    ['an incomplete last row', 'a\tb\na\tb'],
    ['a long row', `a\t${'b'.repeat(1_000)}\n`],
    ['too many rows', 'a\tb\n'.repeat(4)],
    ['bytes that are not UTF-8', Buffer.from([0x61, 0x09, 0xff, 0x0a])],
    ['half of a surrogate pair', Buffer.from([0x61, 0x09, 0xed, 0xa0, 0x80, 0x0a])],
  ])('is refused with %s', (_, text) => {
    expect(() => parseCopyText(Buffer.from(text as string), 2, LIMITS)).toThrow(SiteCopyRefused);
  });
});
