import {
  addCookieClicks,
  addLanding,
  dropExpired,
  emptyRecord,
  mergeRecords,
  type VisitorRecord,
} from './visitor-record.js';

const DAY = 86_400_000;
const NOW = 1_700_000_000_000;
const recordWith = (fields: Partial<VisitorRecord>): VisitorRecord => ({
  ...emptyRecord(),
  visitor: 'v',
  visit: 's',
  seen: NOW,
  ...fields,
});
const touch = { t: NOW, page: 'https://shop.example/', utm: {} };

describe('dropExpired', () => {
  it('drops each value by its own age', () => {
    const record = recordWith({
      clicks: { gclid: { id: 'old', t: NOW - 91 * DAY }, fbclid: { id: 'new', t: NOW - 89 * DAY } },
      first: { t: NOW - 91 * DAY, utm: {} },
      hash: 'h',
      hashed: NOW - 91 * DAY,
    });
    const { clicks, first, hash, visitor } = dropExpired(record, 90, 0, NOW);
    expect({ clicks, first, hash, visitor }).toEqual({
      clicks: { fbclid: { id: 'new', t: NOW - 89 * DAY } },
      first: undefined,
      hash: undefined,
      visitor: 'v',
    });
    expect(dropExpired(recordWith({ seen: NOW - 91 * DAY }), 90, 0, NOW)).toEqual(emptyRecord());
  });

  it('drops a record from before a denial of consent', () => {
    expect(dropExpired(recordWith({ seen: NOW - 2 }), 90, NOW - 1, NOW)).toEqual(emptyRecord());
    expect(dropExpired(recordWith({ seen: NOW }), 90, NOW, NOW).visitor).toBe('v');
  });

  it('drops a malformed record', () => {
    const broken = { ...recordWith({}), seen: 'yesterday' } as unknown as VisitorRecord;
    expect(dropExpired(broken, 90, 0, NOW)).toEqual(emptyRecord());
  });
});

describe('mergeRecords', () => {
  it('prefers the later record and fills in what it lacks from the earlier one', () => {
    const local = recordWith({
      seen: NOW - 5,
      visit: 'earlier',
      utm: { source: 'a' },
      clicks: { gclid: { id: 'G', t: 1, page: 'p' }, ttclid: { id: 'T2', t: 2 }, epik: { id: 'E1', t: 1 } },
      first: { t: 1, page: 'first', utm: {} },
      hash: 'later hash',
      hashed: 9,
    });
    const cookie = recordWith({
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
    expect(mergeRecords(structuredClone(local), structuredClone(cookie))).toMatchObject(expected);
    expect(mergeRecords(cookie, local)).toMatchObject(expected);
  });

  it('returns the other record when one is empty', () => {
    expect(mergeRecords(emptyRecord(), recordWith({ hash: 'h', hashed: 1 }))).toEqual(
      recordWith({ hash: 'h', hashed: 1 }),
    );
    // A record that may not be stored yet exists in the page's memory only and has no visitor id.
    const inMemory = { ...emptyRecord(), seen: NOW + 1, hash: 'h', hashed: 2 };
    expect(mergeRecords(recordWith({}), inMemory)).toMatchObject({ visitor: 'v', visit: 's', hash: 'h' });
  });
});

describe('addLanding', () => {
  const landing = { ids: { gclid: 'G' }, utm: { source: 'a' } };

  it('adds a new click and replaces all UTM fields', () => {
    const record = recordWith({ utm: { source: 'x', term: 'y' } });
    expect(addLanding(record, landing, touch, true)).toBe(true);
    expect(record).toMatchObject({ clicks: { gclid: { id: 'G', t: NOW, page: touch.page } }, first: touch });
    expect(record.utm).toEqual({ source: 'a' });
  });

  it('ignores a landing that is already recorded and keeps the time of the click', () => {
    const record = recordWith({ clicks: { gclid: { id: 'G', t: 1 } }, utm: { source: 'a' }, first: { t: 1, utm: {} } });
    const before = structuredClone(record);
    expect(addLanding(record, landing, touch, true)).toBe(false);
    expect(addLanding(record, { ids: {}, utm: {} }, touch, true)).toBe(false);
    expect(record).toEqual(before);
  });

  it('replaces no newer click on a reload, but adds a missing one', () => {
    const record = recordWith({ clicks: { gclid: { id: 'newer', t: 5 } }, utm: { source: 'b' } });
    expect(addLanding(record, landing, touch, false)).toBe(false);
    expect(record.clicks['gclid']?.id).toBe('newer');
    expect(record.utm).toEqual({ source: 'b' });
    expect(addLanding(record, { ids: { fbclid: 'F' }, utm: {} }, touch, false)).toBe(true);
  });
});

describe('addCookieClicks', () => {
  const add = (existing: VisitorRecord['clicks'], click: { id: string; t?: number }) => {
    const record = recordWith({ clicks: existing });
    addCookieClicks(record, { cookies: {}, clicks: { gclid: click } }, 90, NOW);
    return record.clicks['gclid'];
  };

  it('uses the time in the cookie, or the current time', () => {
    expect(add({}, { id: 'C', t: NOW - 9 })).toEqual({ id: 'C', t: NOW - 9 });
    expect(add({}, { id: 'C' })).toEqual({ id: 'C', t: NOW });
    expect(add({ gclid: { id: 'K', t: NOW - 10 } }, { id: 'C', t: NOW - 9 })).toEqual({ id: 'C', t: NOW - 9 });
  });

  it('ignores a click that is older than the recorded one, without a time, expired or in the future', () => {
    expect(add({ gclid: { id: 'K', t: NOW - 8 } }, { id: 'C', t: NOW - 9 })?.id).toBe('K');
    expect(add({ gclid: { id: 'K', t: 1 } }, { id: 'C' })?.id).toBe('K');
    expect(add({ gclid: { id: 'C', t: 1, page: 'p' } }, { id: 'C', t: NOW })).toEqual({ id: 'C', t: 1, page: 'p' });
    expect(add({}, { id: 'C', t: NOW - 91 * DAY })).toBeUndefined();
    expect(add({}, { id: 'C', t: NOW + 1 })).toBeUndefined();
  });
});
