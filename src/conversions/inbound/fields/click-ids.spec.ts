import * as fc from 'fast-check';
import { SENT_CLICK_IDS } from '../../../platforms/click-ids.js';
import type { InboundFields } from '../inbound-field.js';
import { readClickIds } from './click-ids.js';

const FORMAT = 'must be 1 to 500 visible ASCII characters without @';

function read(sent: unknown, isStrict: boolean) {
  const fields: Pick<InboundFields, 'clickIds'> = {};
  const rawBody = JSON.stringify({ clickIds: sent }) ?? '';
  const result = readClickIds(sent, fields, { isStrict, rawBody });
  return { clickIds: fields.clickIds, result };
}

describe('readClickIds', () => {
  it('keeps case and encoding, and drops empty ids', () => {
    const sent = { gclid: ' Cj0KCQ-aB_1%3D ', ScCid: 'Ab', fbc: 'fb.1.1772359000000.IwAR0_x', ttclid: null, epik: '' };
    expect(read(sent, true).clickIds).toStrictEqual({
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
    ['clickIds.lead_id must be 15 to 17 digits', { lead_id: '12345678901234' }],
    ['clickIds.fbc must have the format of the cookie, such as fb.1.1772350000000.1234567890', { fbc: 'IwAR0' }],
    ['clickIds.fbp must have the format of the cookie, such as fb.1.1772350000000.1234567890', { fbp: 'fb.1..1' }],
  ])('answers %s', (error, sent) => {
    expect(read(sent, true)).toEqual({ clickIds: undefined, result: error });
  });

  it.each(['123456789012345', '99999999999999999'])('reads the lead id %s as a number', (digits) => {
    const rawBody = `{"lead_id":1,"items":[{"lead_id":2}],"clickIds":{"gclid":"lead_id","lead_id": ${digits}}}`;
    const fields: Pick<InboundFields, 'clickIds'> = {};
    expect(readClickIds(JSON.parse(rawBody).clickIds, fields, { isStrict: true, rawBody })).toBeUndefined();
    expect(fields.clickIds).toEqual({ gclid: 'lead_id', lead_id: digits });
  });

  it.each([-123456789012345, 1.5, 12345])('reads no lead id from %d', (id) => {
    expect(read({ lead_id: id }, true).result).toBe('clickIds.lead_id must be 15 to 17 digits');
  });

  it('drops what is not valid, and keeps the rest', () => {
    const sent = { gclid: 'Cj0', fbc: 'IwAR0', dclid: 'CMj', jane: 'x', lead_id: '123456789012345', ctwa_clid: 'ARA' };
    expect(read(sent, false)).toEqual({
      clickIds: { gclid: 'Cj0', dclid: 'CMj', lead_id: '123456789012345', ctwa_clid: 'ARA' },
      result: [
        'clickIds.fbc must have the format of the cookie, such as fb.1.1772350000000.1234567890: dropped',
        `clickIds must have no other names than ${SENT_CLICK_IDS.join(', ')}: dropped`,
      ],
    });
    expect(read('gclid', false).result).toBe('clickIds must be an object');
  });

  it('handles every JSON value and accepts known names and printable ids only', () => {
    const id = fc.oneof(fc.string({ unit: 'binary' }), fc.jsonValue());
    const known = fc.dictionary(fc.constantFrom(...SENT_CLICK_IDS), id, { noNullPrototype: true });
    return fc.assert(
      fc.property(fc.oneof(known, fc.dictionary(fc.string(), id), fc.jsonValue()), (sent) => {
        const { clickIds = {} } = read(sent, false);
        for (const [name, text] of Object.entries(clickIds)) {
          expect(SENT_CLICK_IDS).toContain(name);
          expect(text).toMatch(/^[!-?A-~]{1,500}$/);
        }
      }),
      { seed: 20_261_116, numRuns: 500 },
    );
  });
});
