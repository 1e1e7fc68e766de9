import type { BatchFormat } from '../../http/batch-body.js';
import { LINES_MAX, readBatch } from './read-batch.js';

const clock = { nowMs: () => Date.parse('2026-03-01T00:00:00Z') };
const read = (body: string | Buffer, format: BatchFormat = 'lines', maxLineBytes = 300) =>
  readBatch(Buffer.from(body), format, { maxLineBytes, clock, isStrict: false, pause: async () => {} });

const PURCHASE = '{"email":"jane@example.com","event":"purchase"}';
const ok = expect.objectContaining({ ok: true });

describe('readBatch', () => {
  it('reads every conversion by the rules of a single one', async () => {
    const lines = [PURCHASE, '{"email":"jane"}', '{"email":"jane@example.com"}', '{"event":"purchase"}'];
    const expected = [
      { ok: true, fields: { email: 'jane@example.com', event: 'purchase', currency: 'USD' } },
      ...['email is invalid', 'event required', 'email or hashed_email required'].map((error) =>
        expect.objectContaining({ ok: false, status: 400, outcome: 'invalid', error }),
      ),
    ];
    expect(await read(lines.join('\n'))).toEqual(expected);
    expect(await read(`[${lines.join(',\n')}]`, 'array')).toEqual(expected);
  });

  it.each([
    ['null', 'The conversion is not a JSON object: send the fields inside { }.', 'not_an_object'],
    ['[]', 'The conversion is not a JSON object: send the fields inside { }.', 'not_an_object'],
    ['{"a":1,"a":1}', 'The conversion has an object with the same key twice: send every key once.', 'duplicate_key'],
    [`{"a":${'['.repeat(8)}${']'.repeat(8)}}`, /^The conversion is nested more than 8 levels deep/, 'too_deep'],
    ['{"a":"\\u0000"}', /^The conversion has a \\u0000/, 'forbidden_character'],
    ['{"a":"\\ud800"}', /^The conversion has a \\u0000 or half/, 'forbidden_character'],
    ['{"__proto__":1}', 'The conversion has a key named __proto__: remove it.', 'forbidden_key'],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /^The conversion is not valid UTF-8/, 'encoding'],
  ])('rejects %s alone', async (line, error, reason) => {
    const failure = expect.objectContaining({
      ...{ ok: false, status: 400, outcome: 'malformed', reason },
      error: expect.stringMatching(error),
    });
    const body = Buffer.concat([`${PURCHASE}\n`, line, `\n${PURCHASE}`].map((part) => Buffer.from(part)));
    expect(await read(body)).toEqual([ok, failure, ok]);
    const array = Buffer.concat([`[${PURCHASE},`, line, `,${PURCHASE}]`].map((part) => Buffer.from(part)));
    expect(await read(array, 'array')).toEqual([ok, failure, ok]);
  });

  it('rejects a line that is not JSON alone, and an array with such an element as a whole', async () => {
    const error = 'The conversion is not valid JSON at position 1: correct it there.';
    expect(await read(`${PURCHASE}\n{x\n${PURCHASE}`)).toEqual([
      ok,
      expect.objectContaining({ status: 400, error }),
      ok,
    ]);
    await expect(read(`[${PURCHASE},{x},${PURCHASE}]`, 'array')).rejects.toThrow('in element 1, counted from 0');
    await expect(read(`[${PURCHASE},]`, 'array')).rejects.toThrow('in element 1, counted from 0');
  });

  it('rejects a conversion that is too large alone, without parsing it', async () => {
    const large = `{"email":"${'['.repeat(300)}`;
    const failure = expect.objectContaining({
      status: 413,
      outcome: 'malformed',
      error: expect.stringMatching(/300 bytes/),
    });
    expect(await read(`${large}\n${PURCHASE}`)).toEqual([failure, ok]);
    expect(await read(`[${large}"},${PURCHASE}]`, 'array')).toEqual([failure, ok]);
  });

  it('keeps every digit of a number above 2^53', async () => {
    const orders = ['9007199254740993', '12345678901234567890'];
    const body = orders.map((orderId) => PURCHASE.replace('{', `{"orderId":${orderId},`));
    const readings = await read(`[${body.join()}]`, 'array');
    expect(readings.map((reading) => reading.ok && reading.fields.orderId)).toEqual(orders);
  });

  it('accepts an empty array, and no body without a line', async () => {
    expect(await read('[]', 'array')).toEqual([]);
    for (const body of ['', '\n', '\uFEFF\r\n']) await expect(read(body)).rejects.toThrow(/^The body is empty/);
    await expect(read('', 'array')).rejects.toThrow(/^The body is empty/);
  });

  it('accepts 1,000 conversions and rejects 1,001 as a whole', async () => {
    const lines = Array.from({ length: LINES_MAX }, () => PURCHASE);
    expect(await read(lines.join('\n'))).toHaveLength(1_000);
    await expect(read([...lines, 'x'].join('\n'))).rejects.toThrow(/more than 1000 conversions/);
    await expect(read(`[${[...lines, '{}']}]`, 'array')).rejects.toThrow(/more than 1000 conversions/);
  });
});
