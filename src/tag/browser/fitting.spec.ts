import * as fc from 'fast-check';
import { fitting } from './fitting.js';

const bytes = (text: string) => Buffer.byteLength(text);

describe('a message', () => {
  it('that fits goes as it is', () => {
    const message = { v: 1, clicks: { gclid: { id: 'G', t: 1, page: 'p' } }, utm: { source: 'a' } };
    expect(JSON.parse(fitting(message, 8192, bytes))).toEqual(message);
    expect(fitting({ v: 1, hash: 'h' }, 8192, bytes)).toBe('{"v":1,"hash":"h"}');
  });

  it('loses what matters least first, and its newest click last', () => {
    const message = {
      hash: 'h',
      clicks: {
        old: { id: 'x'.repeat(50), t: 1, page: 'p'.repeat(50) },
        young: { id: 'y', t: 2, page: 'p'.repeat(50) },
      },
      first: { t: 1, utm: {} },
      utm: { source: 'a' },
    };
    const left = (limit: number) => JSON.parse(fitting(message, limit, bytes));
    expect(left(230)).toMatchObject({
      clicks: { old: { t: 1 }, young: { page: 'p'.repeat(50) } },
      utm: { source: 'a' },
    });
    expect(left(230).clicks.old).not.toHaveProperty('page');
    expect(left(130)).toEqual({ hash: 'h', clicks: { old: { id: 'x'.repeat(50), t: 1 }, young: { id: 'y', t: 2 } } });
    expect(left(60)).toEqual({ hash: 'h', clicks: { young: { id: 'y', t: 2 } } });
    expect(message.clicks.old.page).toHaveLength(50);
  });

  it('of any visitor is short enough', () => {
    const text = fc.string({ maxLength: 500, unit: 'grapheme' });
    const click = fc.record({ id: text, t: fc.nat(), page: text });
    return fc.assert(
      fc.property(
        fc.dictionary(fc.string({ maxLength: 12 }), click, { maxKeys: 30 }),
        fc.array(text),
        (clicks, utm) => {
          const message = { v: 1, page: 'p'.repeat(1000), clicks, utm, first: { t: 1, utm } };
          expect(bytes(fitting(message, 8192, bytes))).toBeLessThanOrEqual(8192);
        },
      ),
      { numRuns: 50 },
    );
  });
});
