import { useState } from 'preact/hooks';
import { useData } from '../hooks/use-data.js';
import { useEventStream } from '../hooks/use-event-stream.js';
import { conversionPath } from '../navigation.js';
import { readEarlierEvents } from '../stream/earlier-events.js';
import {
  addToFeed,
  conversionIdOf,
  EMPTY_FEED,
  eventDetail,
  eventTitle,
  eventTone,
  type Feed,
  type LiveEvent,
  STREAM_STATES,
  typesOf,
} from '../stream/live-events.js';
import { Badge, Time } from './basics.js';
import { Empty, Panel, Show } from './frame.js';

const SHOWN_MAX = 12;
/** Apart from changes of the site, which the viewer makes, and the windows of pushes. */
const TYPES = (['conversions', 'deliveries', 'visits', 'refused'] as const).flatMap((group) => typesOf(group) ?? []);

interface EventFeedProps {
  site: string;
  onEvents(events: readonly LiveEvent[]): void;
}

/** The latest events of a site as they happen, in a column. */
export function EventFeed({ site, onEvents }: EventFeedProps) {
  const earlier = useData(`feed ${site}`, () => readEarlierEvents(site, TYPES, SHOWN_MAX));
  const [feed, setFeed] = useState<Feed>(EMPTY_FEED);
  const state = useEventStream({
    site,
    types: TYPES,
    after: earlier.data?.after,
    onEvents: (arrived) => {
      setFeed((before) => addToFeed(before, arrived));
      onEvents(arrived);
    },
  });
  const [tone, words] = STREAM_STATES[state];
  return (
    <Panel title="As it happens" note={<Badge tone={tone}>{words}</Badge>}>
      <Show of={earlier}>
        {({ items }) => {
          const shown = addToFeed(feed, items).shown.slice(0, SHOWN_MAX);
          if (shown.length === 0) return <Empty title="Nothing has happened yet" />;
          return (
            <ol class="feed" aria-label="Events">
              {shown.map((event) => (
                <li key={event.position}>
                  <EventName site={site} event={event} />
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

/** What happened, which leads to its conversion. */
export function EventName({ site, event }: { site: string; event: LiveEvent }) {
  const id = conversionIdOf(event);
  const badge = <Badge tone={eventTone(event.type)}>{eventTitle(event.type)}</Badge>;
  return id === undefined ? badge : <a href={conversionPath(site, id)}>{badge}</a>;
}
