import type { ClientBase } from 'pg';
import { isOpening, type StoredOpening } from '../../conversions/conversion.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { SITE } from '../../events/site.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { copyEvents, readStreams } from '../../log/event-reader.js';
import { type Site } from '../../sites/site.js';
import type { PositionRange } from '../bound.js';
import { type Fate, fatesThatWere, fatesThatWouldBe } from './deliveries.js';
import { Comparison, type Differences } from './differences.js';
import { openingOf, ShadowDesk, type ShadowRules, SiteTimeline } from './rules.js';

const PAGE_EVENTS = 1_000;
const OPENINGS = ['conversion.received.v1', 'conversion.deduplicated.v1', 'conversion.filtered.v1'];
/** The longest window a site can have. */
const WINDOW_MAX_MS = 30 * 24 * 60 * 60 * 1_000;

export interface ShadowRequest extends PositionRange {
  readonly site: Site;
  readonly rules: ShadowRules;
  readonly dedupSecret: string;
  /** The service's own. */
  readonly defaultWindowMs: number;
}

export interface ShadowResult {
  readonly conversions: Differences;
  readonly platforms: Readonly<Record<string, Differences & { readonly payloadsChanged: number }>>;
  /** Of people who were erased since: nobody can tell any more. */
  readonly undecided: number;
}

/** A stretch of history once more, through other rules. Nothing is sent, and nothing stored. */
export async function shadow(
  log: EventLog,
  client: ClientBase,
  request: ShadowRequest,
  progress: (conversions: number, position: number) => void = () => {},
): Promise<ShadowResult> {
  const { site, rules, dedupSecret, defaultWindowMs, after, until } = request;
  const timeline = new SiteTimeline(await log.readStream(SITE, site.id));
  const desk = new ShadowDesk(rules, timeline, dedupSecret, defaultWindowMs);
  await rememberEarlier(log, client, request, desk);
  const comparison = new Comparison();
  let looked = 0;
  for await (const page of openings(client, site.host, after, until)) {
    const streams = await streamsOf(client, page);
    for (const event of page) {
      const first = streams.get(`${CONVERSION}-${firstOf(event)}`)?.[0];
      const would = desk.decide(event, first?.type === 'conversion.filtered.v1');
      const was = openingOf(event);
      // Without the person's hashes no payload can be built, neither as it was nor otherwise.
      if (would === undefined || (would === 'received' && !event.personal)) comparison.undecided += 1;
      else {
        const before = was === 'received' ? fatesThatWere(streams.get(event.stream) ?? [event]) : NOWHERE;
        const after = would === 'received' ? fatesThatWouldBe(event, timeline.as(event.position), rules) : NOWHERE;
        comparison.add({ was, would }, before, after);
      }
    }
    looked += page.length;
    progress(looked, page.at(-1)?.position ?? until);
  }
  return comparison.result();
}

const NOWHERE: ReadonlyMap<string, Fate> = new Map();

/** Who held which key when the stretch began. */
async function rememberEarlier(
  log: EventLog,
  client: ClientBase,
  { after, site, rules }: ShadowRequest,
  desk: ShadowDesk,
): Promise<void> {
  const [first] = await log.read({ after, limit: 1 });
  if (!first) return;
  const windowMs = rules.dedupWindowMs ?? WINDOW_MAX_MS;
  const began = await log.positionBefore(new Date(Date.parse(first.time) - windowMs));
  for await (const page of openings(client, site.host, began, after)) for (const event of page) desk.remember(event);
}

async function* openings(
  client: ClientBase,
  site: string,
  after: number,
  until: number,
): AsyncGenerator<StoredOpening[]> {
  for (let position = after; ; ) {
    const page: StoredOpening[] = [];
    const options = { after: position, until, site, types: OPENINGS, limit: PAGE_EVENTS };
    await copyEvents(client, options, (row) => {
      const event = row.event();
      if (isOpening(event)) page.push(event);
    });
    if (page.length > 0) yield page;
    if (page.length < PAGE_EVENTS) return;
    position = (page.at(-1) as StoredOpening).position;
  }
}

/** Those of a page, and those that its duplicates repeat. */
async function streamsOf(client: ClientBase, page: readonly StoredOpening[]): Promise<Map<string, StoredEvent[]>> {
  const ids = page.flatMap((event) => [event.data.conversionId, firstOf(event) ?? []].flat());
  const streams = new Map<string, StoredEvent[]>();
  for (const event of await readStreams(client, CONVERSION, [...new Set(ids)])) {
    const known = streams.get(event.stream);
    if (known) known.push(event);
    else streams.set(event.stream, [event]);
  }
  return streams;
}

function firstOf(event: StoredOpening): string | undefined {
  return event.type === 'conversion.deduplicated.v1' ? event.data.firstConversionId : undefined;
}
