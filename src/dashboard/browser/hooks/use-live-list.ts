import { useEffect, useRef, useState } from 'preact/hooks';
import type { EventType } from '../api.js';
import { conversionIdOf, type LiveEvent } from '../stream/live-events.js';
import { useEventStream } from './use-event-stream.js';
import { useUpdate } from './use-live.js';
import type { Pages } from './use-pages.js';

interface LiveListOptions<Item> {
  readonly site: string;
  readonly pages: Pages<Item>;
  /** Types of events that add a row. */
  readonly adding: readonly EventType[];
  /** Whether the row that an event adds may match the filters. */
  mayMatch(event: LiveEvent): boolean;
  /** Types of events that change rows of their conversion. */
  readonly changing: readonly EventType[];
  changed(item: Item, event: LiveEvent): Item;
  /** The newest page. */
  refresh(): void;
}

/**
 * Changes the rows of a list that are shown, and returns how many new ones the list does not show yet: rows that move while a person
 * reads are worse than a number. An empty list shows them.
 */
export function useLiveList<Item extends { readonly conversionId?: string | undefined }>(
  options: LiveListOptions<Item>,
): number {
  const { site, pages, adding, mayMatch, changing, changed, refresh } = options;
  const { items = [], newestAt, readAt } = pages;
  const [arrived, setArrived] = useState(0);
  const counted = useRef(0);
  // The newest of each delivery that is shown.
  const changes = useRef(new Map<string, LiveEvent>()).current;
  const update = useUpdate(() => {
    if (counted.current > 0 && items.length === 0 && !pages.isLoading) refresh();
    setArrived(counted.current);
    const events = [...changes.values()];
    changes.clear();
    pages.change((item) =>
      events.reduce((row, event) => (conversionIdOf(event) === item.conversionId ? changed(row, event) : row), item),
    );
  });
  useEffect(() => {
    counted.current = 0;
    setArrived(0);
  }, [newestAt]);
  useEventStream({
    site,
    types: adding,
    after: newestAt,
    onEvents: (events) => {
      const count = events.filter(mayMatch).length;
      counted.current += count;
      if (count > 0) update();
    },
    onSkipped: refresh,
  });
  useEventStream({
    site,
    types: changing,
    // A later page is newer than what the stream has handed over before it.
    after: readAt,
    onEvents: (events) => {
      const shown = new Set(items.map(({ conversionId }) => conversionId));
      for (const event of events) {
        const id = conversionIdOf(event);
        if (id === undefined || !shown.has(id)) continue;
        changes.set(`${id} ${event.data['platform']}`, event);
        update();
      }
    },
  });
  return arrived;
}
