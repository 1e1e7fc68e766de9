import { recordOf, type StoredIdentifiers } from './identifier-record.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const NOW = Date.parse('2026-11-15T12:00:00Z');
const TTL_MS = 90 * DAY_MS;
const VISIT: StoredIdentifiers = { visit: [NOW, { visitorId: 'v', cookies: {} }] };
const click = (kind: string, ageDays: number): StoredIdentifiers => ({
  [kind]: [NOW - ageDays * DAY_MS, { id: kind }],
});
const clicksOf = (stored: StoredIdentifiers, asOfMs = NOW) =>
  Object.keys(recordOf({ ...VISIT, ...stored }, asOfMs, TTL_MS).visit?.clicks ?? {});

describe('recordOf', () => {
  it('has no visit when none is stored', () => {
    expect(recordOf({}, NOW, TTL_MS)).toEqual({ visit: undefined, bot: undefined });
    expect(recordOf(click('gclid', 1), NOW, TTL_MS).visit).toBeUndefined();
  });

  it.each([
    ['gclid', 89.9, 90.1],
    ['ttclid', 27.9, 28.1],
    ['li_fat_id', 29.9, 30.1],
    ['rdt_cid', 29.9, 30.1],
  ])('drops %s after its lifetime at the platform', (kind, good, past) => {
    expect(clicksOf(click(kind, good))).toEqual([kind]);
    expect(clicksOf(click(kind, past))).toEqual([]);
  });

  it('contains only click ids that platforms accept', () => {
    expect(clicksOf({ ...click('gad_source', 1), ...click('qclid', 1) })).toEqual([]);
  });

  it('excludes clicks that happened after the given moment', () => {
    expect(clicksOf({ ...click('gclid', 1), ...click('fbclid', 3) }, NOW - 2 * DAY_MS)).toEqual(['fbclid']);
  });

  it('uses the last campaign, or the first if there is no later one', () => {
    const first: StoredIdentifiers = { ...VISIT, first: [NOW - DAY_MS, { utm: { source: 'first' } }] };
    const last: StoredIdentifiers = { ...first, last: [NOW, { utm: { source: 'last' } }] };
    expect(recordOf(first, NOW, TTL_MS).visit?.utm).toEqual({ source: 'first' });
    expect(recordOf(last, NOW, TTL_MS).visit?.utm).toEqual({ source: 'last' });
  });
});
