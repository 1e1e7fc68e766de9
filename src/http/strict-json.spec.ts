import * as fc from 'fast-check';
import { integerDigits, MalformedBody, parseStrictJson } from './strict-json.js';

const parse = (text: string) => parseStrictJson(Buffer.from(text));

function rejection(body: string | Buffer): MalformedBody {
  try {
    parseStrictJson(Buffer.from(body as string));
  } catch (error) {
    expect(error).toBeInstanceOf(MalformedBody);
    return error as MalformedBody;
  }
  throw new Error('The body was accepted.');
}

const nested = (levels: number) => `${'{"a":'.repeat(levels - 1)}{}${'}'.repeat(levels - 1)}`;

describe('parseStrictJson', () => {
  describe('given a JSON object', () => {
    it('returns the same value as JSON.parse', () => {
      const text = ' { "a" : 1, "b" : [ { "c" : "d:{[" }, null, true ], "e\\n" : "\\"" , "" : {} } ';
      expect(parse(text)).toEqual(JSON.parse(text));
    });

    it('accepts keys that only look alike, and equal keys in different objects', () => {
      expect(parse('{"1":{"a":1},"01":{"a":2},"A":[{"a":3},{"a":4}]}')).toEqual({
        1: { a: 1 },
        '01': { a: 2 },
        A: [{ a: 3 }, { a: 4 }],
      });
    });

    it('ignores colons and brackets inside strings', () => {
      expect(parse('{"a":"\\":[[[[[[[[[{{{{{{:\\\\","b:":1}')).toEqual({ a: '":[[[[[[[[[{{{{{{:\\', 'b:': 1 });
    });

    it('accepts escaped and raw characters outside the Basic Multilingual Plane', () => {
      expect(parse('{"a":"\\ud83d\\ude00😀\\u00e9"}')).toEqual({ a: '😀😀é' });
    });

    it('accepts keys that every object inherits', () => {
      expect(parse('{"constructor":1,"toString":2}')).toEqual({ constructor: 1, toString: 2 });
    });

    it('ignores a byte order mark', () => {
      expect(parse('\ufeff{"a":1}')).toEqual({ a: 1 });
    });

    it('accepts eight levels', () => {
      expect(parse(nested(8))).toEqual(JSON.parse(nested(8)));
      expect(parse('{"a":[[[[[[[]]]]]]]}')).toEqual({ a: [[[[[[[]]]]]]] });
    });
  });

  describe('given anything else', () => {
    it.each([
      ['nothing', '', 'empty'],
      ['a Latin-1 body', Buffer.from('{"name":"Zoë"}', 'latin1'), 'encoding'],
      ['a surrogate encoded as UTF-8', Buffer.from([0x7b, 0x22, 0xed, 0xa0, 0x80, 0x22, 0x7d]), 'encoding'],
      ['only a blank', ' ', 'syntax'],
      ['half an object', '{"a":1', 'syntax'],
      ['an unfinished text', '{"a":"b\\', 'syntax'],
      ['two objects', '{}{}', 'syntax'],
      ['a trailing comma', '{"a":1,}', 'syntax'],
      ['a raw control character', '{"a":"\u0000"}', 'syntax'],
      ['a form', 'email=jane%40example.com', 'syntax'],
      ['an array', '[{"a":1}]', 'not_an_object'],
      ['a text', '"a"', 'not_an_object'],
      ['a number', '1', 'not_an_object'],
      ['null', 'null', 'not_an_object'],
      ['nine levels', nested(9), 'too_deep'],
      ['nine levels of arrays', '{"a":[[[[[[[[]]]]]]]]}', 'too_deep'],
      ['64 KiB of brackets', '['.repeat(65_536), 'too_deep'],
      ['a key twice', '{"a":1,"a":1}', 'duplicate_key'],
      ['a key twice, once escaped', '{"a":1,"\\u0061":2}', 'duplicate_key'],
      ['a key twice, deep inside', '{"a":[{"b":{"c":1,"c":2}}]}', 'duplicate_key'],
      ['a numeric key twice', '{"1":1,"1":2}', 'duplicate_key'],
      ['__proto__', '{"__proto__":{"admin":true}}', 'forbidden_key'],
      ['__proto__, escaped', '{"a":[{"\\u005f_proto__":null}]}', 'forbidden_key'],
      ['a zero character', '{"a":"b\\u0000"}', 'forbidden_character'],
      ['a zero character in a key', '{"a":[{"\\u0000":1}]}', 'forbidden_character'],
      ['a lone high surrogate', '{"a":"\\ud83dx"}', 'forbidden_character'],
      ['a lone low surrogate', '{"a":["\\ude00"]}', 'forbidden_character'],
      ['a pair the wrong way round', '{"a":"\\ude00\\ud83d"}', 'forbidden_character'],
      ['half a pair before a raw character', '{"a":"\\ud83d😀"}', 'forbidden_character'],
    ])('rejects %s', (_, body, kind) => {
      expect(rejection(body).kind).toBe(kind);
    });

    it('reports the position of a syntax error if the parser does', () => {
      expect(rejection('{"a":1 "b":2}').message).toBe('The body is not valid JSON at position 7: correct it there.');
    });

    it('never repeats text of the body', () => {
      const secrets = [
        '{"email":"jane@example.com",',
        'jane@example.com',
        '{"jane":1,"jane":2}',
        '{"a":jane}',
        '"jane"',
      ];
      for (const body of secrets) {
        const error = rejection(body);
        expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain('jane');
        expect(error.cause).toBeUndefined();
      }
      expect(rejection('at position 49151').message).not.toContain('49151');
    });
  });

  describe('for all inputs', () => {
    const text = fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll('\0', ''));
    const anyKey = text.filter((key) => key !== '__proto__');
    const leaf = fc.oneof(
      text,
      fc.integer(),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.constantFrom(null, true),
    );
    const { object } = fc.letrec<{ object: object; value: unknown }>((tie) => ({
      value: fc.oneof({ maxDepth: 5 }, leaf, fc.array(tie('value'), { maxLength: 4 }), tie('object')),
      object: fc.dictionary(anyKey, tie('value'), { noNullPrototype: true, maxKeys: 6 }),
    }));

    it('parses every object that JSON.stringify writes', () =>
      fc.assert(
        fc.property(object, fc.constantFrom(undefined, 2, '\t'), (value, space) => {
          const written = JSON.stringify(value, null, space);
          expect(parse(written)).toEqual(JSON.parse(written));
        }),
      ));

    it('detects a repeated key at any level', () =>
      fc.assert(
        fc.property(object, anyKey, (value, key) => {
          const member = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
          expect(rejection(`{"x":{${member},${member}}}`).kind).toBe('duplicate_key');
        }),
      ));

    it('throws nothing but MalformedBody', () => {
      const brackets = fc.string({
        unit: fc.constantFrom('{', '}', '[', ']', ':', ',', '"', '\\', 'u', '0', 'a', ' '),
      });
      const bytes = fc.oneof(
        fc.uint8Array({ maxLength: 200 }).map((array) => Buffer.from(array)),
        brackets.map((value) => Buffer.from(value)),
      );
      return fc.assert(
        fc.property(bytes, (body) => {
          try {
            parseStrictJson(body);
          } catch (error) {
            expect(error).toBeInstanceOf(MalformedBody);
          }
        }),
        { numRuns: 1_000 },
      );
    });
  });
});

describe('integerDigits', () => {
  it.each([
    ['{"orderId":12345678901234567890}', '12345678901234567890'],
    ['{ "a":"orderId" , "orderId"\n:\t9007199254740993 }', '9007199254740993'],
    ['{"a":{"orderId":1},"b":[{"orderId":2}],"orderId":3}', '3'],
    ['{"a":"\\"orderId\\":1","order\\u0049d":2}', '2'],
    ['{"a":"\\\\","orderId":2}', '2'],
  ])('finds the digits in %s', (body, digits) => {
    expect(integerDigits(body, 'orderId')).toBe(digits);
    expect(integerDigits(Buffer.from(body), 'orderId')).toBe(digits);
  });

  it.each(['{}', '{"orderId":"1"}', '{"orderId":1.5}', '{"orderId":1e30}', '{"orderId":-1}', '{"a":{"orderId":1}}'])(
    'finds none in %s',
    (body) => {
      expect(integerDigits(body, 'orderId')).toBeUndefined();
    },
  );

  it('returns every integer as it is in the body', () =>
    fc.assert(
      fc.property(fc.bigInt({ min: 0n }), fc.object(), (integer, other) => {
        const body = `{"other":${JSON.stringify(other)},"orderId":${integer}}`;
        expect(integerDigits(body, 'orderId')).toBe(String(integer));
      }),
    ));
});
