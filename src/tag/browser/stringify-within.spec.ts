import * as fc from 'fast-check';
import { stringifyWithin } from './stringify-within.js';

const bytes = (text: string) => Buffer.byteLength(text);

describe('stringifyWithin', () => {
  it('leaves a message unchanged that is within the limit', () => {
    const message = { v: 1, clicks: { gclid: { id: 'G', t: 1, page: 'p' } }, utm: { source: 'a' } };
    expect(JSON.parse(stringifyWithin(message, 8192, bytes))).toEqual(message);
    expect(stringifyWithin({ v: 1, hash: 'h' }, 8192, bytes)).toBe('{"v":1,"hash":"h"}');
  });

  it('drops the least important fields first and the newest click last', () => {
    const message = {
      hash: 'h',
      clicks: {
        old: { id: 'x'.repeat(50), t: 1, page: 'p'.repeat(50) },
        young: { id: 'y', t: 2, page: 'p'.repeat(50) },
      },
      first: { t: 1, utm: {} },
      utm: { source: 'a' },
    };
    const within = (limit: number) => JSON.parse(stringifyWithin(message, limit, bytes));
    expect(within(230)).toMatchObject({
      clicks: { old: { t: 1 }, young: { page: 'p'.repeat(50) } },
      utm: { source: 'a' },
    });
    expect(within(230).clicks.old).not.toHaveProperty('page');
    expect(within(130)).toEqual({ hash: 'h', clicks: { old: { id: 'x'.repeat(50), t: 1 }, young: { id: 'y', t: 2 } } });
    expect(within(60)).toEqual({ hash: 'h', clicks: { young: { id: 'y', t: 2 } } });
    expect(message.clicks.old.page).toHaveLength(50);
  });

  it('never exceeds the limit', () => {
    const text = fc.string({ maxLength: 500, unit: 'grapheme' });
    const click = fc.record({ id: text, t: fc.nat(), page: text });
    return fc.assert(
      fc.property(
        fc.dictionary(fc.string({ maxLength: 12 }), click, { maxKeys: 30 }),
        fc.array(text),
        (clicks, utm) => {
          const message = { v: 1, page: 'p'.repeat(1000), clicks, utm, first: { t: 1, utm } };
          expect(bytes(stringifyWithin(message, 8192, bytes))).toBeLessThanOrEqual(8192);
        },
      ),
      { numRuns: 50 },
    );
  });
});
