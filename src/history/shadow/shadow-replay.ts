import type { ClientBase } from 'pg';
import { isOpening, type StoredOpening } from '../../conversions/conversion.js';
import { withOrder } from '../../delivery/payload/read-order.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { SITE, streamIdOf } from '../../events/site.events.js';
import type { PositionRange, StoredEvent } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { copyEvents, readStreams } from '../../log/event-reader.js';
import { positionBefore } from '../../sites/position-before.js';
import { type Site, scopeStart } from '../../sites/site.js';
import { ShadowDeliveries } from './delivery-outcomes.js';
import { Comparison, type ShadowResult } from './differences.js';
import { decisionOf, type ShadowRules, ShadowRulesEngine, SiteTimeline } from './shadow-rules.js';

const PAGE_EVENTS = 1_000;
const OPENINGS = ['conversion.received.v1', 'conversion.deduplicated.v1', 'conversion.filtered.v1'];
/** The longest dedup window that a site can have. */
const WINDOW_MAX_MS = 30 * 24 * 60 * 60 * 1_000;

export interface ShadowRequest extends PositionRange {
  readonly site: Site;
  readonly rules: ShadowRules;
  readonly dedupSecret: string;
  /** The dedup window of sites that do not set one. */
  readonly defaultWindowMs: number;
  /** As long as deliveries are attempted where no limit of the platform is known. */
  readonly giveUpMs: number;
}

/** Runs a position range of the log through changed rules. Nothing is sent or stored. */
export async function shadowReplay(
  log: EventLog,
  client: ClientBase,
  request: ShadowRequest,
  progress: (conversions: number, position: number) => void = () => {},
): Promise<ShadowResult> {
  const { site, rules, dedupSecret, defaultWindowMs, after, until } = request;
  const timeline = new SiteTimeline(await log.readStream(SITE, streamIdOf(site.host)));
  const engine = new ShadowRulesEngine(rules, timeline, dedupSecret, defaultWindowMs);
  await addEarlierClaims(log, client, request, engine);
  const deliveries = new ShadowDeliveries(timeline, rules, request);
  const comparison = new Comparison();
  let examined = 0;
  for await (const page of openings(client, site.host, after, until)) {
    const streams = await streamsOf(client, page);
    for (const event of page) {
      const first = streams.get(`${CONVERSION}-${firstOf(event)}`)?.[0];
      const would = engine.decide(event, first?.type === 'conversion.filtered.v1');
      const was = decisionOf(event);
      // No payload can be built without the person's hashes.
      if (would === undefined || (would === 'received' && !event.personal)) comparison.undecided += 1;
      else {
        const received = would === 'received' ? await withOrder(log, event) : undefined;
        const stream = was === 'received' ? await withVisits(log, streams.get(event.stream) ?? [event]) : undefined;
        comparison.add({ was, would }, deliveries.compare(received, stream));
      }
    }
    examined += page.length;
    progress(examined, page.at(-1)?.position ?? until);
  }
  return comparison.result();
}

/** Streams are read without personal parts. That of an event that added a visit is sent. */
async function withVisits(log: EventLog, stream: readonly StoredEvent[]): Promise<readonly StoredEvent[]> {
  const [opening] = stream as readonly StoredOpening[];
  const isReopened = stream.some(({ type }) => type === 'conversion.reopened.v1');
  return opening && isReopened ? log.readStream(CONVERSION, opening.data.conversionId) : stream;
}

/**
 * Adds the dedup claims that were valid at the start of the position range, and that it repeats: a site may have any number of others.
 */
async function addEarlierClaims(
  log: EventLog,
  client: ClientBase,
  { after, until, site, rules }: ShadowRequest,
  engine: ShadowRulesEngine,
): Promise<void> {
  const windowMs = rules.dedupWindowMs ?? WINDOW_MAX_MS;
  let firstMs: number | undefined;
  for await (const page of openings(client, site.host, after, until)) {
    for (const event of page) engine.expect(event);
    firstMs ??= Date.parse((page[0] as StoredOpening).time);
    const endMs = firstMs + windowMs;
    if (page.some(({ time }) => Date.parse(time) > endMs)) break;
  }
  if (firstMs === undefined) return;
  const start = Math.max(scopeStart(site), await positionBefore(log, new Date(firstMs - windowMs), site.host));
  for await (const page of openings(client, site.host, start, after))
    for (const event of page) engine.addEarlierClaim(event);
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

/** The streams of a page's conversions, and of those that its duplicates repeat. */
async function streamsOf(client: ClientBase, page: readonly StoredOpening[]): Promise<Map<string, StoredEvent[]>> {
  const ids = page.flatMap((event) => [event.data.conversionId, firstOf(event) ?? []].flat());
  const streams = new Map<string, StoredEvent[]>();
  for (const event of await readStreams(client, CONVERSION, [...new Set(ids)])) {
    const stream = streams.get(event.stream);
    if (stream) stream.push(event);
    else streams.set(event.stream, [event]);
  }
  return streams;
}

function firstOf(event: StoredOpening): string | undefined {
  return event.type === 'conversion.deduplicated.v1' ? event.data.firstConversionId : undefined;
}
