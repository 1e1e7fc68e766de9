import { OPERATOR } from './consent.js';
import { mergedRecord, UNREADABLE, type VisitorRecord } from './visitor-record.js';

const YES = { ad_storage: 'granted', ad_user_data: 'granted' } as const;
const NO = { ad_storage: 'denied' } as const;
const record = (parts: Partial<VisitorRecord>): VisitorRecord => ({
  identifiers: [],
  consent: [],
  position: 10,
  ...parts,
});

describe('the record of a person with several subjects', () => {
  it('has what is stored under any of them, and the oldest position', () => {
    const one = record({ identifiers: [['v1', 'visit', 5, 5, 5, 'one']], consent: [['v1', 5, YES]] });
    const other = record({ identifiers: [['v2', 'visit', 6, 6, 6, 'other']], position: 9, isPartial: true });
    expect(mergedRecord([one, other])).toEqual({
      identifiers: [...one.identifiers, ...other.identifiers],
      consent: one.consent,
      position: 9,
      isPartial: true,
    });
  });

  it('has the newest contribution of a visitor, and its first touch', () => {
    const under = (atMs: number, value: string) =>
      record({
        identifiers: [
          ['v', 'visit', atMs, 1, atMs, value],
          ['v', 'first', atMs, 1, atMs, value],
        ],
      });
    for (const records of [
      [under(1, 'old'), under(2, 'new')],
      [under(2, 'new'), under(1, 'old')],
    ])
      expect(mergedRecord(records).identifiers.map(([, kind, , , , value]) => [kind, value])).toEqual([
        ['visit', 'new'],
        ['first', 'old'],
      ]);
  });

  it('is unreadable if one of them is', () => {
    expect(mergedRecord([record({}), UNREADABLE])).toEqual(UNREADABLE);
  });

  it.each([
    ['a visitor', [['v', 1, NO]]],
    ['an operator', [[OPERATOR, 1, NO]]],
  ] as const)('keeps the denial of %s, whatever was granted later under another', (_, denial) => {
    const granted = record({ consent: [[OPERATOR, 7, YES]] });
    for (const records of [
      [record({ consent: denial }), granted],
      [granted, record({ consent: denial })],
    ])
      expect(mergedRecord(records).consent).toEqual(denial);
  });

  it('has no denial that an operator has lifted under the same subject', () => {
    const lifted = record({
      consent: [
        ['v', 1, NO],
        [OPERATOR, 2, YES],
      ],
    });
    expect(mergedRecord([lifted, record({ consent: [[OPERATOR, 0, YES]] })]).consent).toEqual([
      [OPERATOR, 2, YES],
      [OPERATOR, 0, YES],
    ]);
  });
});
