import { FILTER_LISTS, type FilterList, type SiteSettings } from '../events/site.events.js';
import type { StoredEvent } from '../log/event.js';

/** A value of one of the lists that name people or networks. */
export interface SiteFilter {
  /** Undefined: versions before 0.3 stored it in the settings. */
  readonly id: string | undefined;
  readonly list: FilterList;
  /** Undefined: it was erased with the person. */
  readonly value: string | undefined;
  /** Position of the event that has the value. */
  readonly position: number;
}

export function evolveFilters(filters: readonly SiteFilter[], event: StoredEvent): readonly SiteFilter[] {
  switch (event.type) {
    case 'site.settings_changed.v1': {
      const { position, data } = event;
      const replaced = FILTER_LISTS.filter((list) => data.settings[list] !== undefined);
      if (replaced.length === 0) return filters;
      const stored = replaced.flatMap((list) =>
        (data.settings[list] ?? []).map((value) => ({ id: undefined, list, value, position })),
      );
      return [...filters.filter(({ id, list }) => id !== undefined || !replaced.includes(list)), ...stored];
    }
    case 'site.filter_added.v1': {
      const { position, personal, data } = event;
      const value = personal?.subject ?? personal?.value;
      return [...filters, { id: data.filterId, list: data.list, value, position }];
    }
    case 'site.filter_removed.v1':
      return filters.filter(({ id }) => id !== event.data.filterId);
    default:
      return filters;
  }
}

/** The lists as settings have them. */
export function listsOf(filters: readonly SiteFilter[]): Pick<SiteSettings, FilterList> {
  const lists: Record<FilterList, string[]> = { blocked: [], blockIps: [], allowIps: [] };
  for (const { list, value } of filters) if (value !== undefined) lists[list].push(value);
  return lists;
}
