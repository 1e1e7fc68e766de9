import { countsText, erasureProof, isNothing, ownErasure } from './erasure-view.js';

const NOTHING = { events: 0, identifiers: 0, claims: 0 };
const RECORDED = {
  ...{ position: 42, id: '01a1e5b9-3fea-7b69-abe9-1a3f1faf7078', time: '2026-03-01T09:30:00.000Z' },
  ...{ actor: 'user:1', actorName: 'Ada', events: 2, identifiers: 1, claims: 0 },
};

describe('an erasure on the page', () => {
  it('says what is stored, without what is not', () => {
    expect(countsText({ events: 1, identifiers: 0, claims: 0 })).toBe('the personal parts of 1 event');
    expect(countsText({ events: 1200, identifiers: 2, claims: 1 })).toBe(
      'the personal parts of 1,200 events, 2 identifier records and 1 dedup key',
    );
    expect(countsText(NOTHING)).toBe('nothing');
    expect([isNothing(NOTHING), isNothing({ ...NOTHING, claims: 1 })]).toEqual([true, false]);
  });

  it('is the newest one of the user, not that of others', () => {
    const others = { ...RECORDED, position: 50, actor: 'cli:root' };
    const older = { ...RECORDED, position: 7 };
    expect(ownErasure([others, RECORDED, older], '1')).toBe(RECORDED);
    expect(ownErasure([others], '1')).toBeUndefined();
  });

  it('is proved by its event and by what is left', () => {
    expect(erasureProof('shop.example', RECORDED, NOTHING)).toBe(
      [
        'Erasure of a person at shop.example',
        'Time: 2026-03-01T09:30:00.000Z',
        'By: Ada',
        'Erased: the personal parts of 2 events and 1 identifier record',
        'Stored about the person afterwards: nothing',
        'Recorded in the log: event 01a1e5b9-3fea-7b69-abe9-1a3f1faf7078 at position 42',
      ].join('\n'),
    );
  });
});
