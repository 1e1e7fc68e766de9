import { ALTERNATIVE_CLICKS, CLICK_IDS, COOKIES, kindOfSent, SENT_CLICK_IDS } from './click-ids.js';

describe('click ids and cookies of the platforms', () => {
  it('keep the numbers that stored counts and cookies of visitors have', () => {
    const numbers = [...COOKIES, ...CLICK_IDS].map(([name, { number }]) => [name, number] as const);
    expect(Object.fromEntries(numbers)).toMatchObject({
      ...{ _fbp: 12, _ttp: 13, _ga: 14, _ga_session: 15, _uetvid: 16, _scid: 17, _rdt_uuid: 18 },
      ...{ gclid: 19, gbraid: 20, wbraid: 21, dclid: 22, fbclid: 23, ttclid: 24, msclkid: 25, twclid: 26 },
      ...{ li_fat_id: 27, sccid: 28, rdt_cid: 29, epik: 30, qclid: 33 },
    });
    expect(ALTERNATIVE_CLICKS).toContainEqual({ number: 31, kinds: ['gclid', 'gbraid', 'wbraid'] });
  });

  it('have names and numbers of their own', () => {
    const numbered = [...COOKIES, ...CLICK_IDS];
    expect(new Set(numbered.map(([name]) => name)).size).toBe(numbered.length);
    const numbers = [...numbered.map(([, { number }]) => number), ...ALTERNATIVE_CLICKS.map(({ number }) => number)];
    expect(new Set(numbers).size).toBe(numbers.length);
    // What is not of a platform has the numbers before, and "any click id" has 32.
    expect(numbers.filter((number) => number < 12 || number === 32 || number > 255)).toEqual([]);
  });

  it('are alternatives only where a sender may state them', () => {
    for (const { kinds } of ALTERNATIVE_CLICKS)
      for (const kind of kinds) expect(SENT_CLICK_IDS.map(kindOfSent)).toContain(kind);
  });

  it('are stated by senders under the name of a click id, or as an id that only Meta has', () => {
    const others = ['fbc', 'fbp', 'lead_id', 'ctwa_clid'];
    expect(SENT_CLICK_IDS.filter((name) => kindOfSent(name) === undefined)).toEqual(others);
  });
});
