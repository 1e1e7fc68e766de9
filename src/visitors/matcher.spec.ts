import { DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import { matchAtReceipt } from './matcher.js';
import type { StoredIdentifier } from './person.js';

const MINUTE_MS = 60_000;
const NOW = Date.parse('2026-11-15T12:00:00Z');
const TTL_MS = 90 * 24 * 60 * MINUTE_MS;

/** A visitor whose landing with a click was received so many minutes ago; without a cookie the service did not see it. */
const visited = (visitor: string, minutes: number, { cookie = true, statedMinutes = minutes } = {}) => {
  const landed = cookie ? NOW - minutes * MINUTE_MS : null;
  const rows: StoredIdentifier[] = [
    [visitor, 'visit', NOW - minutes * MINUTE_MS, landed, 1, { visitorId: visitor, cookies: {} }],
    [visitor, 'gclid', NOW - statedMinutes * MINUTE_MS, landed, 1, { id: visitor }],
  ];
  return rows;
};

const matched = (identifiers: readonly StoredIdentifier[], occurredMinutesAgo?: number) => {
  const occurredAt =
    occurredMinutesAgo === undefined ? undefined : new Date(NOW - occurredMinutesAgo * MINUTE_MS).toISOString();
  const { visit } = matchAtReceipt({ identifiers, consent: [] }, DEFAULT_SITE_SETTINGS, NOW, TTL_MS, occurredAt);
  return visit && (visit.clicks.gclid?.id ?? 'no click');
};

describe('the match of a conversion when it is received', () => {
  it('uses every earlier visit if it has no time of occurrence', () => {
    expect(matched(visited('a1', 1))).toBe('a1');
    expect(matched(visited('a1', 1, { cookie: false }))).toBe('a1');
  });

  it('uses visits before it occurred, with and without a landing that the service saw', () => {
    expect(matched(visited('a1', 90), 60)).toBe('a1');
    expect(matched(visited('a1', 90, { cookie: false }), 60)).toBe('a1');
  });

  it('uses nothing of a visitor that the service saw only after it occurred', () => {
    expect(matched(visited('a1', 30), 60)).toBeUndefined();
    expect(matched([...visited('a1', 90), ...visited('a2', 30)], 60)).toBe('a1');
  });

  it('does not believe a browser that a later click happened before', () => {
    expect(matched(visited('a1', 30, { statedMinutes: 90 }), 60)).toBeUndefined();
    expect(matched(visited('a1', 30, { statedMinutes: 90, cookie: false }), 60)).toBeUndefined();
  });

  it('allows for the sender’s clock, but not for a click after it occurred', () => {
    expect(matched(visited('a1', 55, { statedMinutes: 65 }), 60)).toBe('a1');
    expect(matched(visited('a1', 55), 60)).toBe('no click');
    expect(matched(visited('a1', 1), -5)).toBe('a1');
  });
});
