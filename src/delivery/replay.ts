import { CONVERSION } from '../events/conversion.events.js';
import { type SendRequest } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { type Delivery, foldDeliveries, resultOf } from './delivery.js';

const PAGE_EVENTS = 500;

export interface ReplayRequest {
  readonly site: string;
  readonly platform: PlatformName;
  /** Exclusive and inclusive; or one conversion. */
  readonly range: { readonly after: number; readonly until: number } | { readonly conversion: string };
  /** Position of the site's newest event. */
  readonly settings: number;
  /** As a new intent, under a new id, whatever became of it before. */
  readonly force: boolean;
  readonly dryRun: boolean;
}

export interface ReplayCounts {
  /** Asked for now (or would be). */
  requested: number;
  /** All that were looked at, by where they stood. */
  readonly byStatus: Record<string, number>;
}

/**
 * Asks for conversions to be sent that the platform has not taken: those that failed or were skipped. What it took is never
 * asked for again, unless by force; what still waits comes by itself. Whichever process runs then sends them.
 */
export async function replayDeliveries(
  log: EventLog,
  request: ReplayRequest,
  progress: (looked: number) => void = () => {},
): Promise<ReplayCounts> {
  const counts: ReplayCounts = { requested: 0, byStatus: {} };
  let looked = 0;
  for await (const opening of received(log, request)) {
    looked += 1;
    progress(looked);
    const { status, requested } = await replayOne(log, opening, request);
    counts.byStatus[status] = (counts.byStatus[status] ?? 0) + 1;
    if (requested) counts.requested += 1;
  }
  return counts;
}

async function replayOne(log: EventLog, opening: StoredEvent<'conversion.received.v1'>, request: ReplayRequest) {
  for (;;) {
    const events = await log.readStream(CONVERSION, opening.stream.slice(CONVERSION.length + 1));
    const delivery = foldDeliveries(events).find(({ platform }) => platform === request.platform);
    const status = delivery ? resultOf(delivery.last, false).status : 'not_connected';
    const isWanted = request.force || status === 'failed' || status === 'skipped';
    if (!delivery || !isWanted || opening.data.trial) return { status, requested: false };
    if (request.dryRun || (await ask(log, opening, events, delivery, request))) return { status, requested: true };
    // Something has become of it meanwhile, or somebody else has asked: look again.
  }
}

async function* received(
  log: EventLog,
  { site, range }: ReplayRequest,
): AsyncGenerator<StoredEvent<'conversion.received.v1'>> {
  const types = ['conversion.received.v1'] as const;
  if ('conversion' in range) {
    const [opening] = await log.readStream(CONVERSION, range.conversion);
    if (opening?.type === 'conversion.received.v1' && opening.site === site) yield opening;
    return;
  }
  for (let { after } = range; ; ) {
    const page = await log.read({ after, until: range.until, site, types, limit: PAGE_EVENTS });
    yield* page;
    const last = page.at(-1);
    if (!last) return;
    after = last.position;
  }
}

/** False when the stream is no longer what the decision was made on. */
async function ask(
  log: EventLog,
  { data, site }: StoredEvent<'conversion.received.v1'>,
  events: readonly StoredEvent[],
  delivery: Delivery,
  { platform, settings, force }: ReplayRequest,
): Promise<boolean> {
  const eventId = force ? nextEventId(data.orderId ?? data.conversionId, events) : delivery.eventId;
  const request: SendRequest = {
    conversionId: data.conversionId,
    platform,
    attempt: delivery.attempts,
    settings,
    reopened: delivery.reopened,
    ...(eventId !== undefined && { eventId }),
  };
  const outcome = await log.append({
    category: CONVERSION,
    stream: data.conversionId,
    expected: events.length,
    site,
    actor: 'cli',
    events: [{ type: 'conversion.send_requested.v1', data: request }],
  });
  return outcome.status === 'appended';
}

/** `<id>-r2`, `-r3`, …: each force is an intent of its own, at whichever platform. */
function nextEventId(id: string, events: readonly StoredEvent[]): string {
  const used = new Set(
    events.map((event) => (event.type === 'conversion.send_requested.v1' ? event.data.eventId : undefined)),
  );
  let number = 2;
  while (used.has(`${id}-r${number}`)) number += 1;
  return `${id}-r${number}`;
}
