import { useEffect, useMemo, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Badge, Button, Time } from '../components/basics.js';
import { EventName } from '../components/event-feed.js';
import { EventKindOptions } from '../components/forms/event-kind-options.js';
import { Empty, Notice, Page, Panel, Show } from '../components/frame.js';
import { type Column, Table } from '../components/table.js';
import { counted, formatNumber } from '../format.js';
import { useData } from '../hooks/use-data.js';
import { useEventStream } from '../hooks/use-event-stream.js';
import { pathOf, withQuery } from '../navigation.js';
import type { Site } from '../session.js';
import { readEarlierEvents } from '../stream/earlier-events.js';
import {
  addToFeed,
  EMPTY_FEED,
  eventDetail,
  type Feed,
  filterFeed,
  kindOf,
  type LiveEvent,
  moveOn,
  STREAM_STATES,
  typesOf,
} from '../stream/live-events.js';

const EARLIER = 100;

/** Every event of a site as it happens. */
export function Live({ site: { host: site } }: { site: Site }) {
  const { path, query, route } = useLocation();
  const kind = kindOf(query['show']);
  const text = query['text'] ?? '';
  const types = typesOf(kind);
  const earlier = useData(`events ${site} ${kind}`, () => readEarlierEvents(site, types, EARLIER));
  const [feed, setFeed] = useState<Feed>(EMPTY_FEED);
  const [paused, setPaused] = useState<{ readonly feed: Feed; readonly arrived: number }>();
  const [hasGap, setGap] = useState(false);
  useEffect(() => {
    setGap(false);
    setFeed(filterFeed(addToFeed(EMPTY_FEED, earlier.data?.items ?? []), text));
    setPaused(undefined);
  }, [earlier.data]);
  useEffect(() => {
    setFeed((before) => filterFeed(before, text));
    setPaused((before) => before && { ...before, feed: filterFeed(before.feed, text) });
  }, [text]);
  const state = useEventStream({
    site,
    types,
    after: earlier.data?.after,
    onEvents: (arrived) => {
      setFeed((before) => addToFeed(before, arrived));
      setPaused((before) => before && { ...before, arrived: before.arrived + arrived.length });
    },
    onSkipped: () => setGap(true),
  });
  const [tone, words] = paused ? (['warn', 'paused'] as const) : STREAM_STATES[state];
  const shown = paused ? paused.feed.shown : feed.moving;
  const togglePause = () => {
    setPaused(paused ? undefined : { feed, arrived: 0 });
    if (paused) setFeed(moveOn);
  };
  const choose = (change: Readonly<Record<string, string>>) => route(withQuery(path, { ...query, ...change }), true);
  return (
    <Page
      title="Live"
      note={
        <>
          Everything at {site} as it happens <Badge tone={tone}>{words}</Badge>
          {!paused && feed.passed > 0 && ` ${counted(feed.passed, 'event')} too fast to be listed one by one`}
        </>
      }
      actions={
        <>
          <select
            aria-label="Show"
            value={kind ?? ''}
            onChange={(event) => choose({ show: event.currentTarget.value })}
          >
            <EventKindOptions />
          </select>
          <input
            type="search"
            aria-label="Text in the event"
            placeholder="Order, platform, reason …"
            value={text}
            onInput={(event) => choose({ text: event.currentTarget.value })}
          />
          <Button label={paused ? `Continue (${formatNumber(paused.arrived)} new)` : 'Pause'} onClick={togglePause} />
        </>
      }
    >
      {hasGap && (
        <Notice>
          This page was away for long. Some of the events in between are not listed here; the sync log has them.
        </Notice>
      )}
      <Panel>
        <Show of={earlier}>
          {() => (shown.length > 0 ? <EventTable site={site} events={shown} /> : <Nothing site={site} text={text} />)}
        </Show>
        {!paused && shown.length < feed.shown.length && (
          <p class="more dim">Pause to see the last {formatNumber(feed.shown.length)}.</p>
        )}
      </Panel>
    </Page>
  );
}

function Nothing({ site, text }: { site: string; text: string }) {
  if (text !== '')
    return <Empty title={`No recent event contains “${text}”`}>New ones appear here as they happen.</Empty>;
  return (
    <Empty title="Nothing has happened yet">
      Send a conversion with a <a href={pathOf(site, 'keys')}>key</a>: it appears here within a second.
    </Empty>
  );
}

function EventTable({ site, events }: { site: string; events: readonly LiveEvent[] }) {
  const columns: Column<LiveEvent>[] = useMemo(
    () => [
      { title: 'Time', cell: ({ time }) => <Time time={time} as="clock" /> },
      { title: 'Event', cell: (event) => <EventName site={site} event={event} /> },
      { title: 'Details', kind: 'text', cell: (event) => <span class="dim">{eventDetail(event)}</span> },
      { title: 'Position', kind: 'number', isMinor: true, cell: ({ position }) => position },
    ],
    [site],
  );
  return <Table label="Events" rows={events} rowKey={({ position }) => position} columns={columns} />;
}
