import { type Kept, nothingKept, stillValid, takeCookieClicks, takeLanding, united } from './kept.js';

const DAY = 86_400_000;
const NOW = 1_700_000_000_000;
const kept = (some: Partial<Kept>): Kept => ({ ...nothingKept(), visitor: 'v', visit: 's', seen: NOW, ...some });
const touch = { t: NOW, page: 'https://shop.example/', utm: {} };

describe('what is kept', () => {
  it('ends after its days, each thing by its own time', () => {
    const record = kept({
      clicks: { gclid: { id: 'old', t: NOW - 91 * DAY }, fbclid: { id: 'new', t: NOW - 89 * DAY } },
      first: { t: NOW - 91 * DAY, utm: {} },
      hash: 'h',
      hashed: NOW - 91 * DAY,
    });
    const { clicks, first, hash, visitor } = stillValid(record, 90, 0, NOW);
    expect({ clicks, first, hash, visitor }).toEqual({
      clicks: { fbclid: { id: 'new', t: NOW - 89 * DAY } },
      first: undefined,
      hash: undefined,
      visitor: 'v',
    });
    expect(stillValid(kept({ seen: NOW - 91 * DAY }), 90, 0, NOW)).toEqual(nothingKept());
  });

  it('ends with a denial that came after it, wherever it lies', () => {
    expect(stillValid(kept({ seen: NOW - 2 }), 90, NOW - 1, NOW)).toEqual(nothingKept());
    expect(stillValid(kept({ seen: NOW }), 90, NOW, NOW).visitor).toBe('v');
  });

  it('that is not what it should be counts for nothing', () => {
    const broken = { ...kept({}), seen: 'yesterday' } as unknown as Kept;
    expect(stillValid(broken, 90, 0, NOW)).toEqual(nothingKept());
  });
});

describe('two records of one visitor', () => {
  it('are united: the later speaks, the other adds what only it knows', () => {
    const local = kept({
      seen: NOW - 5,
      visit: 'earlier',
      utm: { source: 'a' },
      clicks: { gclid: { id: 'G', t: 1, page: 'p' }, ttclid: { id: 'T2', t: 2 }, epik: { id: 'E1', t: 1 } },
      first: { t: 1, page: 'first', utm: {} },
      hash: 'later hash',
      hashed: 9,
    });
    const cookie = kept({
      utm: { source: 'b' },
      clicks: { gclid: { id: 'G', t: 1 }, ttclid: { id: 'T1', t: 1 }, epik: { id: 'E2', t: 2 } },
      first: { t: 1, utm: {} },
      hash: 'earlier hash',
      hashed: 8,
    });
    const expected = {
      visit: 's',
      utm: { source: 'b' },
      clicks: { gclid: { id: 'G', t: 1, page: 'p' }, ttclid: { id: 'T2', t: 2 }, epik: { id: 'E2', t: 2 } },
      first: { t: 1, page: 'first', utm: {} },
      hash: 'later hash',
    };
    expect(united(structuredClone(local), structuredClone(cookie))).toMatchObject(expected);
    expect(united(cookie, local)).toMatchObject(expected);
  });

  it('of which one is empty are the other', () => {
    expect(united(nothingKept(), kept({ hash: 'h', hashed: 1 }))).toEqual(kept({ hash: 'h', hashed: 1 }));
    // What a page holds in its memory until it may keep it has no visitor yet.
    const held = { ...nothingKept(), seen: NOW + 1, hash: 'h', hashed: 2 };
    expect(united(kept({}), held)).toMatchObject({ visitor: 'v', visit: 's', hash: 'h' });
  });
});

describe('a landing', () => {
  const landing = { ids: { gclid: 'G' }, utm: { source: 'a' } };

  it('with a new click is new, and its campaign replaces the last one whole', () => {
    const record = kept({ utm: { source: 'x', term: 'y' } });
    expect(takeLanding(record, landing, touch, true)).toBe(true);
    expect(record).toMatchObject({ clicks: { gclid: { id: 'G', t: NOW, page: touch.page } }, first: touch });
    expect(record.utm).toEqual({ source: 'a' });
  });

  it('that is known is not, and keeps the time of the click', () => {
    const record = kept({ clicks: { gclid: { id: 'G', t: 1 } }, utm: { source: 'a' }, first: { t: 1, utm: {} } });
    const before = structuredClone(record);
    expect(takeLanding(record, landing, touch, true)).toBe(false);
    expect(takeLanding(record, { ids: {}, utm: {} }, touch, true)).toBe(false);
    expect(record).toEqual(before);
  });

  it('that is only seen again displaces no newer click, and fills a gap', () => {
    const record = kept({ clicks: { gclid: { id: 'newer', t: 5 } }, utm: { source: 'b' } });
    expect(takeLanding(record, landing, touch, false)).toBe(false);
    expect(record.clicks['gclid']?.id).toBe('newer');
    expect(record.utm).toEqual({ source: 'b' });
    expect(takeLanding(record, { ids: { fbclid: 'F' }, utm: {} }, touch, false)).toBe(true);
  });
});

describe('a click that only a cookie knows', () => {
  const take = (known: Kept['clicks'], click: { id: string; t?: number }) => {
    const record = kept({ clicks: known });
    takeCookieClicks(record, { cookies: {}, clicks: { gclid: click } }, 90, NOW);
    return record.clicks['gclid'];
  };

  it('counts by its own time, or since now', () => {
    expect(take({}, { id: 'C', t: NOW - 9 })).toEqual({ id: 'C', t: NOW - 9 });
    expect(take({}, { id: 'C' })).toEqual({ id: 'C', t: NOW });
    expect(take({ gclid: { id: 'K', t: NOW - 10 } }, { id: 'C', t: NOW - 9 })).toEqual({ id: 'C', t: NOW - 9 });
  });

  it('does not count against a newer one, without a time against any, nor when it is too old or of the future', () => {
    expect(take({ gclid: { id: 'K', t: NOW - 8 } }, { id: 'C', t: NOW - 9 })?.id).toBe('K');
    expect(take({ gclid: { id: 'K', t: 1 } }, { id: 'C' })?.id).toBe('K');
    expect(take({ gclid: { id: 'C', t: 1, page: 'p' } }, { id: 'C', t: NOW })).toEqual({ id: 'C', t: 1, page: 'p' });
    expect(take({}, { id: 'C', t: NOW - 91 * DAY })).toBeUndefined();
    expect(take({}, { id: 'C', t: NOW + 1 })).toBeUndefined();
  });
});
