import type { ClientBase } from 'pg';
import type { PositionRange, StoredEvent } from '../log/event.js';
import { copyEvents } from '../log/event-reader.js';

const PAGE_EVENTS = 1_000;

/** Publishes events to a topic in this order. Resolves once the brokers have acknowledged them. */
export type Publish = (events: readonly StoredEvent[], topic: string) => Promise<void>;

export interface ReplayEventsRequest extends PositionRange {
  readonly types?: readonly string[] | undefined;
  readonly site?: string | undefined;
  readonly topic: string;
}

export interface ReplayedCounts {
  readonly events: number;
  readonly byType: Readonly<Record<string, number>>;
}

/** Publishes a position range of the log to a topic that the operator chose, page by page and without the personal parts. */
export async function replayEvents(
  client: ClientBase,
  publish: Publish,
  { after, until, types, site, topic }: ReplayEventsRequest,
  progress: (events: number, position: number) => void = () => {},
): Promise<ReplayedCounts> {
  const byType: Record<string, number> = {};
  let events = 0;
  for (let position = after; ; ) {
    const page: StoredEvent[] = [];
    const filter = { ...(types && { types }), ...(site !== undefined && { site }) };
    await copyEvents(client, { after: position, until, limit: PAGE_EVENTS, ...filter }, (row) =>
      page.push({ ...row.event(), personal: null }),
    );
    const last = page.at(-1);
    if (!last) return { events, byType };
    await publish(page, topic);
    for (const { type } of page) byType[type] = (byType[type] ?? 0) + 1;
    events += page.length;
    position = last.position;
    progress(events, position);
  }
}
