import { useState } from 'preact/hooks';
import { api, dataOf } from '../api.js';
import {
  addEvents,
  conversionIdOf,
  eventDetail,
  eventTitle,
  eventTone,
  groupOf,
  type LiveEvent,
} from '../live-events.js';
import { conversionPath } from '../navigation.js';
import { useData } from '../use-data.js';
import { useEventStream } from '../use-event-stream.js';
import { Badge } from './badge.js';
import { Panel } from './panel.js';
import { Empty, Show } from './states.js';
import { Time } from './time.js';

const SHOWN_MAX = 12;

/** Apart from changes of the site, which the viewer makes, and the windows of pushes. */
const isShown = ({ type }: LiveEvent) => !['changes', 'pushes'].includes(groupOf(type));

/** The latest events of a site as they happen, in a column. */
export function EventFeed({ site, onEvents }: { site: string; onEvents: () => void }) {
  const params = { path: { site }, query: { limit: 50 } };
  const earlier = useData(`feed ${site}`, () => dataOf(api.GET('/api/v1/sites/{site}/events', { params })));
  const [events, setEvents] = useState<readonly LiveEvent[]>([]);
  const start = earlier.data && Math.max(0, ...earlier.data.items.map(({ position }) => position));
  const state = useEventStream(site, start, (arrived) => {
    setEvents((before) => addEvents(before, arrived.filter(isShown), SHOWN_MAX));
    onEvents();
  });
  return (
    <Panel
      title="As it happens"
      note={<Badge tone={state === 'open' ? 'ok' : 'wait'}>{state === 'open' ? 'live' : 'connecting …'}</Badge>}
    >
      <Show of={earlier}>
        {({ items }) => {
          const shown = addEvents(items.filter(isShown), events, SHOWN_MAX);
          if (shown.length === 0) return <Empty title="Nothing has happened yet" />;
          return (
            <ol class="feed" aria-label="Events">
              {shown.map((event) => (
                <li key={event.position}>
                  <FeedTitle site={site} event={event} />
                  <span class="dim">
                    <Time time={event.time} as="clock" />
                  </span>
                  <p class="dim">{eventDetail(event)}</p>
                </li>
              ))}
            </ol>
          );
        }}
      </Show>
    </Panel>
  );
}

function FeedTitle({ site, event }: { site: string; event: LiveEvent }) {
  const id = conversionIdOf(event);
  const badge = <Badge tone={eventTone(event.type)}>{eventTitle(event.type)}</Badge>;
  return id === undefined ? badge : <a href={conversionPath(site, id)}>{badge}</a>;
}
