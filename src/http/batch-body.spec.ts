import fc from 'fast-check';
import { type BatchFormat, splitBatch } from './batch-body.js';

const split = (text: string | Buffer, format: BatchFormat) =>
  [...splitBatch(Buffer.from(text), format)].map((part) => part.toString('utf8'));

describe('splitBatch of lines', () => {
  it.each([
    ['', []],
    ['{"a":1}', ['{"a":1}']],
    ['{"a":1}\n{"b":2}\n', ['{"a":1}', '{"b":2}']],
    ['{"a":1}\r\n\r\n \t\n{"b":2}', ['{"a":1}\r', '{"b":2}']],
    ['\uFEFF{"a":1}\n', ['{"a":1}']],
    ['\uFEFF\n', []],
    ['{"a":"x\\ny"}\n\n\n', ['{"a":"x\\ny"}']],
  ])('splits the body %j', (body, lines) => {
    expect(split(body, 'lines')).toEqual(lines);
  });

  it('finds the lines of any text that are not blank', () => {
    const text = fc
      .array(fc.constantFrom('\n', '\n', '\r', ' ', '\t', 'a', '{"b":"\u2028"}'))
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(text, (body) => {
        expect(split(body, 'lines')).toEqual(body.split('\n').filter((line) => /[^ \t\r]/.test(line)));
      }),
      { seed: 16, numRuns: 500 },
    );
  });
});

describe('splitBatch of an array', () => {
  it.each([
    ['[]', []],
    [' [ \r\n ] ', []],
    ['\uFEFF[{"a":1}]', ['{"a":1}']],
    ['[{"a":[1,{"b":2}]},{"c":"],[\\"}"}]', ['{"a":[1,{"b":2}]}', '{"c":"],[\\"}"}']],
    ['[1,"a,b",null]\n', ['1', '"a,b"', 'null']],
    // Not valid JSON: the parser of the element says so.
    ['[,]', ['', '']],
    ['[{"a":1},]', ['{"a":1}', '']],
    ['[{"a":1]]', ['{"a":1]']],
  ])('splits the body %j', (body, elements) => {
    expect(split(body, 'array')).toEqual(elements);
  });

  it.each([
    '',
    ' ',
    '{}',
    'null',
    '[',
    '[{"a":1}',
    '[{"a":1',
    '["',
    '["\\',
    '[]]',
    '[] x',
    '[1}',
    '[{"a":1]},{}]',
    '['.repeat(100_000),
  ])('rejects %j', (body) => {
    expect(() => split(body, 'array')).toThrow(/^The body is /);
  });

  it('finds the elements of any JSON array', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), fc.constantFrom(undefined, 1, '\t'), (values, space) => {
        const elements = split(JSON.stringify(values, null, space), 'array');
        expect(elements.map((element) => JSON.parse(element))).toEqual(JSON.parse(JSON.stringify(values)));
      }),
      { seed: 16, numRuns: 500 },
    );
  });
});
