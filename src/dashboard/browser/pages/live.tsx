import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { api, dataOf } from '../api.js';
import { Badge } from '../components/badge.js';
import { Page } from '../components/panel.js';
import { Empty, Show } from '../components/states.js';
import { Table } from '../components/table.js';
import { Time } from '../components/time.js';
import { counted } from '../format.js';
import {
  addEvents,
  conversionIdOf,
  EVENT_GROUPS,
  eventDetail,
  eventTitle,
  eventTone,
  groupOf,
  type LiveEvent,
} from '../live-events.js';
import { conversionPath } from '../navigation.js';
import type { Site } from '../session.js';
import { useData } from '../use-data.js';
import { type StreamState, useEventStream } from '../use-event-stream.js';

const SHOWN_MAX = 200;
const STATES: Readonly<Record<StreamState, readonly ['ok' | 'wait' | 'bad', string]>> = {
  connecting: ['wait', 'connecting …'],
  open: ['ok', 'live'],
  lost: ['bad', 'connection lost, trying again'],
};

/** Every event of a site as it happens. */
export function Live({ site }: { site: Site }) {
  const { path, query, route } = useLocation();
  const params = { path: { site: site.host }, query: { limit: 50 } };
  const earlier = useData(`events ${site.host}`, () => dataOf(api.GET('/api/v1/sites/{site}/events', { params })));
  const [events, setEvents] = useState<readonly LiveEvent[]>([]);
  const [held, setHeld] = useState<readonly LiveEvent[]>();
  const start = earlier.data && Math.max(0, ...earlier.data.items.map(({ position }) => position));
  const state = useEventStream(site.host, start, (arrived) => {
    if (held) setHeld((before) => addEvents(before ?? [], arrived, SHOWN_MAX));
    else setEvents((before) => addEvents(before, arrived, SHOWN_MAX));
  });
  const resume = () => {
    setEvents(addEvents(events, held ?? [], SHOWN_MAX));
    setHeld(undefined);
  };
  const [tone, words] = STATES[state];
  const group = query['show'];
  return (
    <Page
      title="Live"
      note={
        <>
          Everything at {site.host} as it happens <Badge tone={tone}>{words}</Badge>
        </>
      }
      actions={
        <>
          <select
            aria-label="Show"
            value={group ?? ''}
            onChange={(event) => {
              const chosen = event.currentTarget.value;
              route(chosen === '' ? path : `${path}?show=${chosen}`);
            }}
          >
            <option value="">All events</option>
            {EVENT_GROUPS.map(([name, title]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
          <button type="button" onClick={() => (held ? resume() : setHeld([]))}>
            {held ? `Continue (${counted(held.length, 'new event')})` : 'Pause'}
          </button>
        </>
      }
    >
      <section class="panel">
        <Show of={earlier}>
          {({ items }) => (
            <Events
              site={site.host}
              events={addEvents(items, events, SHOWN_MAX).filter(({ type }) => !group || groupOf(type) === group)}
            />
          )}
        </Show>
      </section>
    </Page>
  );
}

function Events({ site, events }: { site: string; events: readonly LiveEvent[] }) {
  if (events.length === 0)
    return (
      <Empty title="Nothing has happened yet">
        Send a conversion with a <a href={`/sites/${site}/keys`}>key</a>: it appears here within a second.
      </Empty>
    );
  return (
    <Table
      label="Events"
      rows={events}
      rowKey={({ position }) => position}
      columns={[
        { title: 'Time', cell: ({ time }) => <Time time={time} /> },
        { title: 'Event', cell: (event) => <EventName site={site} event={event} /> },
        { title: 'Details', isText: true, cell: (event) => <span class="dim">{eventDetail(event)}</span> },
        { title: 'Position', isNumber: true, isMinor: true, cell: ({ position }) => position },
      ]}
    />
  );
}

function EventName({ site, event }: { site: string; event: LiveEvent }) {
  const id = conversionIdOf(event);
  const badge = <Badge tone={eventTone(event.type)}>{eventTitle(event.type)}</Badge>;
  return id === undefined ? badge : <a href={conversionPath(site, id)}>{badge}</a>;
}
