import * as fc from 'fast-check';
import { SENT_CLICK_IDS } from '../../../platforms/click-ids.js';
import { readClickIds } from './click-ids.js';

const FORMAT = 'must be 1 to 500 visible ASCII characters without @';

describe('readClickIds', () => {
  it('keeps case and encoding, and drops empty ids', () => {
    const sent = { gclid: ' Cj0KCQ-aB_1%3D ', ScCid: 'Ab', fbc: 'fb.1.1772359000000.IwAR0_x', ttclid: null, epik: '' };
    expect(readClickIds(sent)).toStrictEqual({
      gclid: 'Cj0KCQ-aB_1%3D',
      ScCid: 'Ab',
      fbc: 'fb.1.1772359000000.IwAR0_x',
    });
  });

  it.each([
    ['clickIds must be an object', 'gclid'],
    ['clickIds must be an object', ['Cj0']],
    [`clickIds must have no other names than ${SENT_CLICK_IDS.join(', ')}`, { sccid: 'x' }],
    [`clickIds must have no other names than ${SENT_CLICK_IDS.join(', ')}`, { constructor: 'x' }],
    [`clickIds.gclid ${FORMAT}`, { gclid: 5 }],
    [`clickIds.gclid ${FORMAT}`, { gclid: 'a b' }],
    [`clickIds.gclid ${FORMAT}`, { gclid: ' ' }],
    [`clickIds.gclid ${FORMAT}`, { gclid: 'x'.repeat(501) }],
    [`clickIds.gclid ${FORMAT}`, { gclid: 'jane@example.com' }],
    [`clickIds.gclid ${FORMAT}`, { gclid: 'jane%40example.com' }],
    [`clickIds.twclid ${FORMAT}`, { twclid: 'é' }],
    ['clickIds.fbc must have the format of the cookie, such as fb.1.1772350000000.1234567890', { fbc: 'IwAR0' }],
    ['clickIds.fbp must have the format of the cookie, such as fb.1.1772350000000.1234567890', { fbp: 'fb.1..1' }],
  ])('answers %s', (error, sent) => {
    expect(readClickIds(sent)).toBe(error);
  });

  it('handles every JSON value and accepts known names and printable ids only', () => {
    const id = fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue());
    const known = fc.dictionary(fc.constantFrom(...SENT_CLICK_IDS), id, { noNullPrototype: true });
    return fc.assert(
      fc.property(fc.oneof(known, fc.dictionary(fc.string(), id), fc.jsonValue()), (sent) => {
        const clickIds = readClickIds(sent);
        if (typeof clickIds === 'string') return;
        for (const [name, text] of Object.entries(clickIds)) {
          expect(SENT_CLICK_IDS).toContain(name);
          expect(text).toMatch(/^[!-?A-~]{1,500}$/);
        }
      }),
      { seed: 20_261_116, numRuns: 500 },
    );
  });
});
