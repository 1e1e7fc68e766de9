import { recordOf, type StoredIdentifier } from './identifier-record.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOW = Date.parse('2026-11-15T12:00:00Z');
const KEPT = 90 * DAY_MS;
const VISIT: StoredIdentifier = { kind: 'visit', atMs: NOW, value: { visitorId: 'v', cookies: {} } };
const click = (kind: string, ageDays: number): StoredIdentifier => ({
  kind,
  atMs: NOW - ageDays * DAY_MS,
  value: { id: kind },
});
const clicksOf = (rows: readonly StoredIdentifier[], asOfMs = NOW) =>
  Object.keys(recordOf(rows, asOfMs, KEPT).visit?.clicks ?? {});

describe('what is known of somebody', () => {
  it('is nothing without a visit', () => {
    expect(recordOf([], NOW, KEPT)).toEqual({ visit: undefined, bot: undefined });
    expect(recordOf([click('gclid', 1)], NOW, KEPT).visit).toBeUndefined();
  });

  it.each([
    ['gclid', 89.9, 90.1],
    ['ttclid', 27.9, 28.1],
    ['li_fat_id', 29.9, 30.1],
    ['rdt_cid', 29.9, 30.1],
  ])('forgets %s when its platform does', (kind, good, past) => {
    expect(clicksOf([VISIT, click(kind, good)])).toEqual([kind]);
    expect(clicksOf([VISIT, click(kind, past)])).toEqual([]);
  });

  it('tells platforms nothing that no platform takes', () => {
    expect(clicksOf([VISIT, click('gad_source', 1), click('qclid', 1)])).toEqual([]);
  });

  it('as of a moment, has no click from later', () => {
    expect(clicksOf([VISIT, click('gclid', 1), click('fbclid', 3)], NOW - 2 * DAY_MS)).toEqual(['fbclid']);
  });

  it('goes by the last campaign, and by the first where there was no other', () => {
    const first: StoredIdentifier = { kind: 'first', atMs: NOW - DAY_MS, value: { utm: { source: 'first' } } };
    const last: StoredIdentifier = { kind: 'last', atMs: NOW, value: { utm: { source: 'last' } } };
    expect(recordOf([VISIT, first], NOW, KEPT).visit?.utm).toEqual({ source: 'first' });
    expect(recordOf([VISIT, first, last], NOW, KEPT).visit?.utm).toEqual({ source: 'last' });
  });
});
