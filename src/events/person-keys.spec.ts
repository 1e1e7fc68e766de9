import { clickKey, externalIdKey, isPerson, nameOfSubject, phoneKey, statedKeys } from './person-keys.js';

const DIGEST = 'ab'.repeat(32);

describe('the keys of a person', () => {
  it('tell what the person is known by', () => {
    const keys = [phoneKey(DIGEST), externalIdKey('1'), clickKey('1')];
    expect(new Set(keys).size).toBe(3);
    expect(keys.map((key) => key.length)).toEqual([66, 66, 66]);
    expect(keys.map(nameOfSubject)).toEqual(['person', 'person', 'person']);
    expect(nameOfSubject(DIGEST)).toBe('subject');
  });

  it('are those of people, and a visitor’s id is not', () => {
    expect([phoneKey(DIGEST), DIGEST, 'ab'.repeat(16), undefined].map(isPerson)).toEqual([true, true, false, false]);
  });

  it('are in the order of phone, external id and click ids, each click once', () => {
    const clickIds = {
      fbc: 'fb.1.1772350000000.F',
      fbclid: 'F',
      fbp: 'fb.1.1772350000000.1',
      gclid: 'G',
      lead_id: 'L',
    };
    expect(statedKeys({ phone: DIGEST, externalId: 'C', clickIds })).toEqual([
      phoneKey(DIGEST),
      externalIdKey('C'),
      ...['G', 'F', 'L'].map(clickKey),
    ]);
    expect(statedKeys({})).toEqual([]);
  });
});
