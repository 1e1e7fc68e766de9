import { parentIdOf, readTraceparent, traceFields, traceIdOf } from './traceparent.js';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const VALID = `00-${TRACE}-${PARENT}-01`;

describe('readTraceparent', () => {
  it('accepts a valid header, sampled or not', () => {
    expect(readTraceparent(VALID)).toBe(VALID);
    expect(readTraceparent(`00-${TRACE}-${PARENT}-00`)).toBe(`00-${TRACE}-${PARENT}-00`);
    expect([traceIdOf(VALID), parentIdOf(VALID)]).toEqual([TRACE, PARENT]);
  });

  it.each([
    ['no header', undefined],
    ['an empty one', ''],
    ['two, as Node joins them', `${VALID}, ${VALID}`],
    ['two in a list', [VALID, VALID]],
    ['a huge one', `00-${'a'.repeat(16_000)}`],
    ['upper case', VALID.toUpperCase()],
    ['another version', VALID.replace(/^00/, '01')],
    ['the invalid version', VALID.replace(/^00/, 'ff')],
    ['a trace id of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['a parent id of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['a character that is not hexadecimal', VALID.replace('a', 'g')],
    ['a line break at its end', `${VALID.slice(0, -1)}\n`],
    ['a line break within', `00-${TRACE}-${PARENT.slice(0, -2)}\r\n-01`],
    ['a missing flag', `${VALID.slice(0, -1)} `],
  ])('ignores %s', (_, header) => {
    expect(readTraceparent(header)).toBeUndefined();
  });
});

describe('traceFields', () => {
  it('names the trace, if there is one', () => {
    expect(traceFields(VALID)).toEqual({ trace_id: TRACE });
    expect(traceFields(undefined)).toEqual({});
  });
});
