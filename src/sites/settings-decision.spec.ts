import type { SiteEvent, SiteSettings } from '../events/site.events.js';
import type { StoredEvent } from '../log/event.js';
import { settingsDecision, withoutErased } from './settings-decision.js';
import { evolve, type Site } from './site.js';

const JANE = 'ab'.repeat(32);
const BOB = 'cd'.repeat(32);
const REGISTERED: SiteEvent = { type: 'site.registered.v1', data: { host: 'shop.example', aliases: [] } };

let history: StoredEvent[];

function site(): Site {
  return history.reduce(evolve, undefined as Site | undefined) as Site;
}

function append(...events: readonly SiteEvent[]): void {
  for (const event of events) {
    const position = history.length + 1;
    const envelope = { position, id: '', stream: 'site-1', version: position, site: 'shop.example', actor: 'cli' };
    const personal = 'personal' in event ? event.personal : null;
    history.push({ ...envelope, time: '2026-03-01T10:00:00.000Z', ...event, personal } as StoredEvent);
  }
}

function change(changed: Partial<SiteSettings>): SiteEvent[] {
  const events = settingsDecision(site(), changed)?.events ?? [];
  append(...events);
  return [...events];
}

/** As an erasure does. */
function erase(subject: string): void {
  history = history.map(
    (event) => (event.personal?.subject === subject ? { ...event, personal: null } : event) as StoredEvent,
  );
}

beforeEach(() => {
  history = [];
  append(REGISTERED);
});

describe('a change of settings', () => {
  it('has values that name people in personal parts only, one each', () => {
    const lists = { blocked: [JANE, '@spam.example', BOB], blockIps: ['192.0.2.0/24'], allowIps: ['2001:db8::1'] };
    const events = change({ botThreshold: 40, ...lists });
    expect(events.map(({ type }) => type)).toEqual([
      'site.settings_changed.v1',
      ...Array.from({ length: 5 }, () => 'site.filter_added.v1'),
    ]);
    const shown = JSON.stringify(events.map(({ data }) => data));
    for (const value of Object.values(lists).flat()) expect(shown).not.toContain(value);
    expect(events.flatMap((event) => ('personal' in event ? [event.personal] : []))).toEqual([
      ...[{ subject: JANE }, { value: '@spam.example' }, { subject: BOB }],
      ...[{ value: '192.0.2.0/24' }, { value: '2001:db8::1' }],
    ]);
    expect(site().settings).toMatchObject({ botThreshold: 40, ...lists });
  });

  it('adds and removes single values, and says nothing about the others', () => {
    change({ blocked: [JANE, BOB] });
    expect(change({ blocked: [BOB, '@spam.example'] })).toMatchObject([
      { type: 'site.filter_removed.v1', data: { list: 'blocked' } },
      { type: 'site.filter_added.v1', data: { list: 'blocked' }, personal: { value: '@spam.example' } },
    ]);
    expect(site().settings.blocked).toEqual([BOB, '@spam.example']);
    expect(change({})).toEqual([]);
  });

  it('stores a list of an earlier version anew, without its values in the settings', () => {
    append({ type: 'site.settings_changed.v1', data: { settings: { blocked: [JANE, BOB], blockIps: ['192.0.2.1'] } } });
    const { settings } = site();
    expect(settings).toMatchObject({ blocked: [JANE, BOB], blockIps: ['192.0.2.1'] });
    expect(change({ blocked: [JANE] })).toMatchObject([
      { type: 'site.settings_changed.v1', data: { settings: { blocked: [] } } },
      { type: 'site.filter_added.v1', personal: { subject: JANE } },
    ]);
    expect(site().settings).toMatchObject({ blocked: [JANE], blockIps: ['192.0.2.1'] });
  });
});

describe('the erasure of a blocked person', () => {
  it('ends the block, and leaves the other filters', () => {
    change({ blocked: [JANE, BOB] });
    erase(JANE);
    expect(site().settings.blocked).toEqual([BOB]);
    const events = withoutErased(site(), JANE)?.events ?? [];
    expect(events).toMatchObject([{ type: 'site.filter_removed.v1' }]);
    append(...events);
    expect(withoutErased(site(), JANE)).toBeUndefined();
    expect(site().settings.blocked).toEqual([BOB]);
  });

  it('ends a block that an earlier version stored in the settings', () => {
    append({ type: 'site.settings_changed.v1', data: { settings: { blocked: [JANE, BOB] } } });
    append(...(withoutErased(site(), JANE)?.events ?? []));
    expect(site().settings.blocked).toEqual([BOB]);
    expect(JSON.stringify(history.slice(2).map(({ data }) => data))).not.toContain(BOB);
  });
});
