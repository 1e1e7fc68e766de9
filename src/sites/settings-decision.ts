import type { ClientBase } from 'pg';
import { FILTER_LISTS, type FilterList, type SiteEvent, type SiteSettings } from '../events/site.events.js';
import { uuidv7 } from '../kernel/uuid.js';
import { deletePartsAt } from '../log/erasure.js';
import type { Site } from './site.js';
import type { SiteFilter } from './site-filters.js';
import type { EventsWithChange } from './site-repository.js';

/**
 * The events of changed settings. Values of the lists are in personal parts, each in one of its own, which is deleted when the value is
 * removed, and erased with the person. A list that an earlier version stored in the settings is stored anew when it changes.
 */
export function settingsDecision(site: Site, changed: Partial<SiteSettings>): EventsWithChange | undefined {
  const settings: Record<string, unknown> = { ...changed };
  const removed: SiteFilter[] = [];
  const added: SiteEvent[] = [];
  for (const list of FILTER_LISTS) {
    const filters = site.filters.filter((filter) => filter.list === list);
    const values = new Set(changed[list] ?? site.settings[list]);
    removed.push(...filters.filter(({ id, value }) => id !== undefined && (value === undefined || !values.has(value))));
    delete settings[list];
    if (changed[list] === undefined) continue;
    if (filters.some(({ id }) => id === undefined)) settings[list] = [];
    const stored = new Set(filters.flatMap(({ id, value }) => (id === undefined ? [] : [value])));
    added.push(...[...values].filter((value) => !stored.has(value)).map((value) => addition(list, value)));
  }
  const others: SiteEvent[] =
    Object.keys(settings).length === 0 ? [] : [{ type: 'site.settings_changed.v1', data: { settings } }];
  const removal = removalOf(removed);
  const [first, ...more] = [...others, ...removal.events, ...added];
  return first && { events: [first, ...more], change: removal.change };
}

/** After the erasure of a person: what is left of the filters that named the person. */
export function withoutErased(site: Site, subject: string): EventsWithChange | undefined {
  const isStored = site.filters.some(
    ({ id, list, value }) => id === undefined && list === 'blocked' && value === subject,
  );
  return settingsDecision(
    site,
    isStored ? { blocked: site.settings.blocked.filter((value) => value !== subject) } : {},
  );
}

/** The events that remove filters, and what deletes their values in the transaction that appends them. */
export function removalOf(filters: readonly SiteFilter[]) {
  const events = filters.flatMap(({ id, list }): SiteEvent[] =>
    id === undefined ? [] : [{ type: 'site.filter_removed.v1', data: { filterId: id, list } }],
  );
  const positions = filters.flatMap(({ id, value, position }) =>
    id === undefined || value === undefined ? [] : [position],
  );
  const change = async (client: ClientBase) => {
    if (positions.length > 0) await deletePartsAt(client, positions);
  };
  return { events, change };
}

function addition(list: FilterList, value: string): SiteEvent {
  const personal = list === 'blocked' && !value.startsWith('@') ? { subject: value } : { value };
  return { type: 'site.filter_added.v1', data: { filterId: uuidv7(), list }, personal };
}
