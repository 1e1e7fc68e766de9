import { type Seen, type StoredIdentifier, unionOf, visitorsOf } from './person.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOW = Date.parse('2026-11-15T12:00:00Z');
const TTL_MS = 90 * DAY_MS;
const [JANE, PHONE] = ['a1', 'a2'] as const;

let position = 0;
beforeEach(() => {
  position = 0;
});

/** Ages in days. Without `landed` the service did not see the landing. */
function row(visitor: string, kind: string, ageDays: number, value: object, landed?: number): StoredIdentifier {
  position += 1;
  return [visitor, kind, NOW - ageDays * DAY_MS, landed === undefined ? null : NOW - landed * DAY_MS, position, value];
}
const visit = (visitor: string, landed?: number) =>
  row(visitor, 'visit', 0, { visitorId: visitor, cookies: {} }, landed);
const click = (visitor: string, kind: string, ageDays: number, landed?: number, id = kind) =>
  row(visitor, kind, ageDays, { id }, landed);
const recordOf = (rows: readonly StoredIdentifier[], asOfMs = NOW, seen?: Seen) =>
  unionOf(visitorsOf(rows, asOfMs, TTL_MS, seen));
const clicksOf = (rows: readonly StoredIdentifier[], asOfMs?: number) =>
  Object.keys(recordOf([visit(JANE), ...rows], asOfMs)?.clicks ?? {});

describe('the record of a person', () => {
  it('is missing without a visit', () => {
    expect(recordOf([])).toBeUndefined();
    expect(recordOf([click(JANE, 'gclid', 1)])).toBeUndefined();
  });

  it.each([
    ['gclid', 89.9, 90.1],
    ['ttclid', 27.9, 28.1],
    ['li_fat_id', 29.9, 30.1],
    ['rdt_cid', 29.9, 30.1],
  ])('drops %s after its lifetime at the platform', (kind, good, past) => {
    expect(clicksOf([click(JANE, kind, good)])).toEqual([kind]);
    expect(clicksOf([click(JANE, kind, past)])).toEqual([]);
  });

  it('contains only click ids that platforms accept', () => {
    expect(clicksOf([click(JANE, 'gad_source', 1), click(JANE, 'irclickid', 1)])).toEqual([]);
    expect(clicksOf([click(JANE, 'qclid', 1)])).toEqual(['qclid']);
  });

  it('excludes clicks that happened after the given moment', () => {
    expect(clicksOf([click(JANE, 'gclid', 1), click(JANE, 'fbclid', 3)], NOW - 2 * DAY_MS)).toEqual(['fbclid']);
  });

  it('uses the last campaign, or the first if there is no later one', () => {
    const first = [visit(JANE, 1), row(JANE, 'first', 1, { utm: { source: 'first' } }, 1)];
    expect(recordOf(first)?.utm).toEqual({ source: 'first' });
    expect(recordOf([...first, row(JANE, 'last', 0, { utm: { source: 'last' } }, 1)])?.utm).toEqual({ source: 'last' });
  });

  describe('with several visitors', () => {
    const gclid = (rows: readonly StoredIdentifier[]) =>
      recordOf([visit(JANE, 9), visit(PHONE, 9), ...rows])?.clicks.gclid?.id;

    it('is the union of what they contributed', () => {
      const rows = [visit(JANE, 9), visit(PHONE, 9), click(JANE, 'gclid', 2, 2), click(PHONE, 'fbclid', 1, 1)];
      expect(Object.keys(recordOf(rows)?.clicks ?? {})).toEqual(['gclid', 'fbclid']);
    });

    it('contains the click whose landing the service received last, whatever time the browser states', () => {
      const rows = [click(JANE, 'gclid', 3, 1, 'last'), click(PHONE, 'gclid', 0, 2, 'earlier')];
      expect(gclid(rows)).toBe('last');
      expect(gclid(rows.toReversed())).toBe('last');
    });

    it('keeps a click when a visitor without a landing reports another', () => {
      expect(gclid([click(JANE, 'gclid', 9, 9, 'landed'), click(PHONE, 'gclid', 0, undefined, 'claimed')])).toBe(
        'landed',
      );
      expect(gclid([click(JANE, 'gclid', 9, undefined, 'first'), click(PHONE, 'gclid', 0, undefined, 'claimed')])).toBe(
        'first',
      );
    });

    it('uses for a late match only what the service had seen by then', () => {
      const rows = [
        ...[visit(JANE, 5), click(JANE, 'gclid', 5, 5), click(JANE, 'fbclid', 5, 1)],
        ...[visit(PHONE), click(PHONE, 'msclkid', 5)],
      ];
      const visited = recordOf(rows, NOW, { byMs: NOW - 2 * DAY_MS });
      expect(visited).toMatchObject({ visitorId: JANE, clicks: { gclid: { id: 'gclid' } } });
      expect(Object.keys(visited?.clicks ?? {})).toEqual(['gclid']);
      expect(recordOf([visit(PHONE), click(PHONE, 'msclkid', 5)], NOW, { byMs: NOW })).toBeUndefined();
    });

    it('counts a visit without a landing by the time of its call, if it may count', () => {
      const visited = (ageDays: number) => row(PHONE, 'visit', ageDays, { visitorId: PHONE, cookies: {} });
      const seen = { byMs: NOW - 2 * DAY_MS, withoutLanding: true } as const;
      const clicks = (ageDays: number) =>
        recordOf([visited(ageDays), click(PHONE, 'msclkid', 5)], NOW - 2 * DAY_MS, seen)?.clicks;
      expect(clicks(3)).toMatchObject({ msclkid: { id: 'msclkid' } });
      expect(clicks(1)).toBeUndefined();
    });
  });
});
