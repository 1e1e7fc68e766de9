import { parsePointer, valueAt } from '../../kernel/expressions/pointer.js';
import { applyMapping, mappedPerson } from './apply.js';
import { compileMapping, readPointers } from './compile.js';
import { sentValues, valuesToStore } from './delivery-values.js';
import { changedMapping, type TopicMapping } from './mapping.js';
import { shapeOf } from './shape.js';

const compiled = (rules: TopicMapping) => compileMapping({ topic: rules }).get('topic') as never;
const apply = (rules: TopicMapping, json: unknown) =>
  applyMapping(compiled(rules), sentValues(json, Buffer.from(JSON.stringify(json))));
const fieldOf = (expression: string, json: unknown) =>
  (apply({ value: expression }, json) as { body: Record<string, unknown> }).body['value'];

describe('a JSON pointer', () => {
  const document = { foo: ['bar', 'baz'], '': 0, 'a/b': 1, 'm~n': 8, ' ': 7 };

  it.each([
    ['/foo', ['bar', 'baz']],
    ['/foo/0', 'bar'],
    ['/', 0],
    ['/a~1b', 1],
    ['/m~0n', 8],
    ['/ ', 7],
    ['/foo/2', undefined],
    ['/constructor/name', undefined],
    ['/foo/length/x', undefined],
  ])('%s finds what RFC 6901 says', (text, expected) => {
    expect(valueAt(document, parsePointer(text) as string[])).toEqual(expected);
  });

  it.each(['foo', '', '/a~2', '~'])('is not %j', (text) => {
    expect(parsePointer(text)).toBeUndefined();
  });
});

describe('a rule', () => {
  it.each([
    ['/a ?? /b', { a: '', b: 'x' }, 'x'],
    ["/a ?? 'none'", { a: null }, 'none'],
    ['/a | number', { a: '403.00' }, 403],
    ['/a | number', { a: 'abc' }, 'abc'],
    ['/a | minor_units /c', { a: 1099, c: 'usd' }, 10.99],
    ['/a | minor_units /c', { a: 1099, c: 'jpy' }, 1099],
    ['/a | minor_units /c', { a: 1099, c: 'KWD' }, 1.099],
    ['/a | minus /b', { a: '0.3', b: 0.1 }, 0.2],
    ['/a | minus /b', { a: 5 }, 5],
    ['/a | sum /v', { a: [{ v: '1.10' }, { v: '2.20' }] }, 3.3],
    ['/a | sum /v', { a: [] }, undefined],
    ['/a | first_word', { a: ' Jenny  Rosen ' }, 'Jenny'],
    ['/a | last_word', { a: 'Jenny Rosen' }, 'Rosen'],
    ['/a | last_word', { a: 'Jenny' }, undefined],
    ['/a | parameter gclid', { a: '/?gclid=abc&x=1' }, 'abc'],
    ['/a | parameter gclid', { a: 'https://shop.example/' }, undefined],
    ['/a | utc', { a: '2017-03-22T19:28:02' }, '2017-03-22T19:28:02Z'],
    ['/a | lower', { a: 'ABC' }, 'abc'],
    ['/a | text', { a: 5 }, '5'],
    ['/a', { a: 'x\0y\ud800' }, 'xy'],
  ])('%s of %j is %j', (expression, json, expected) => {
    expect(fieldOf(expression, json)).toEqual(expected);
  });

  it('keeps every digit of an id', () => {
    const body = Buffer.from('{"order":{"id":820982911946154508}}');
    const mapped = applyMapping(compiled({ orderId: '/order/id' }), sentValues(JSON.parse(body.toString()), body));
    expect(mapped).toMatchObject({ body: { orderId: '820982911946154508' } });
  });

  it('sets parts of fields and of items', () => {
    const rules = { 'clickIds.gclid': '/g', 'items[]': '/lines', 'items[].id': '/sku', 'items[].price': '/p | number' };
    const json = { g: 'x', lines: [{ sku: 'A', p: '1.5' }, { sku: 'B' }] };
    expect(apply(rules, json)).toMatchObject({
      body: { clickIds: { gclid: 'x' }, items: [{ id: 'A', price: 1.5 }, { id: 'B' }] },
    });
  });

  it.each([
    [{ value: 'a' }, 'topic:value "a" is neither a JSON pointer'],
    [{ value: '/a | eval x' }, 'topic:value "eval" is no transform'],
    [{ value: '/a | number 5' }, 'topic:value number takes no argument'],
    [{ value: '/a | minus' }, 'topic:value minus takes an argument'],
    [{ price: '/a' }, 'topic:price is no field of a conversion'],
    [{ 'items[].color': '/a' }, 'topic:items[].color An item has'],
    [{ when: '/a' }, 'topic:when takes a JSON pointer and values'],
    [{ correction: "'yes'" }, "topic:correction is 'true'"],
    [{ value: `/${'a'.repeat(600)}` }, 'topic:value is longer than 500 characters'],
    [{ value: Array(9).fill('/a').join(' ?? ') }, 'topic:value has more than 8 alternatives'],
  ])('%j is refused', (rules, message) => {
    expect(() => compiled(rules as never)).toThrow(message);
  });

  it('takes bounded time, whatever is sent', () => {
    const lines = Array.from({ length: 100_000 }, () => ({ sku: 'x' }));
    const mapped = apply({ 'items[]': '/lines', 'items[].id': '/sku', value: '/lines | sum /sku' }, { lines });
    expect((mapped as { body: Record<string, unknown> }).body['items']).toHaveLength(100);
  });
});

describe('a condition', () => {
  it('lets only its values pass', () => {
    const rules = { when: '/status = paid, completed', event: "'purchase'" };
    expect(apply(rules, { status: 'completed' })).toMatchObject({ body: { event: 'purchase' } });
    expect(apply(rules, { status: 'pending' })).toEqual({ ignored: 'condition' });
    expect(apply(rules, {})).toEqual({ ignored: 'condition' });
  });
});

describe('the mapping of a site', () => {
  it('changes, adds and removes rules', () => {
    const mapping = { a: { event: "'x'", value: '/v' } };
    expect(changedMapping(mapping, { a: { value: '/w' }, b: { event: "'y'" } })).toEqual({
      a: { event: "'x'", value: '/w' },
      b: { event: "'y'" },
    });
    expect(changedMapping(mapping, { a: { event: '', value: '' } })).toEqual({});
  });
});

describe('what is stored of a delivery', () => {
  const rules = {
    email: '/customer/email',
    'custom.copy': '/customer/email',
    ipAddress: '/ip',
    orderId: '/id',
    city: '/city',
    'items[]': '/lines',
    'items[].id': '/sku',
  };
  const json = {
    customer: { email: 'a@b.example' },
    ip: '192.0.2.1',
    id: 5,
    city: 'Ulm',
    other: 1,
    lines: [{ sku: 'A', secret: 1 }],
  };

  it('has what the rules read, without the person and the visit', () => {
    const stored = valuesToStore(readPointers([compiled(rules)]), sentValues(json, Buffer.from('')), (text) => text);
    expect(stored).toEqual({ '/id': 5, '/city': 'Ulm', '/lines': [{ '/sku': 'A' }] });
  });

  it('says of the person only what is hashed', () => {
    expect(mappedPerson(compiled(rules), sentValues(json, Buffer.from('')))).toEqual({ email: 'a@b.example' });
  });

  it('has a form without values, and without names made of data', () => {
    const shape = shapeOf({
      id: 5,
      email: 'a@b.example',
      list: [{ x: true }, { y: 1 }],
      'a@b.example': 1,
      '+49151': 2,
      none: null,
    });
    expect(shape).toEqual({ id: 'number', email: 'text', list: [{ x: 'boolean' }], none: 'null' });
  });

  it('has a form of bounded size', () => {
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`key${index}`, index]));
    expect(Object.keys(shapeOf(wide)).length).toBeLessThan(500);
    let deep: unknown = 1;
    for (let depth = 0; depth < 1_000; depth += 1) deep = { deep };
    expect(JSON.stringify(shapeOf(deep)).length).toBeLessThan(200);
  });
});
