import type { ICommandHandler } from '@nestjs/cqrs';
import { CONVERSION } from '../events/conversion.events.js';
import { CommandHandler } from '../kernel/command.js';
import { INTERVALS } from '../kernel/intervals.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import { type Delivery, foldDeliveries, resultOf } from './delivery.js';
import { type ReplayCounts, ReplayDeliveries, type ReplayRequest } from './replay-deliveries.command.js';
import { sendRequestOf } from './send-request.js';

const PAGE_EVENTS = 500;

type Received = StoredEvent<'conversion.received.v1'>;

export interface ReplayControl {
  /** After each conversion: how many were examined, the position of the last one, the counts so far. To cancel, it throws. */
  onProgress?(examined: number, position: number, counts: Readonly<ReplayCounts>): void | Promise<void>;
  /** The database's time after which nothing may be requested any more. */
  notAfterMs?(): number;
}

/**
 * Never requests a delivery that the platform has accepted, unless forced, and forces one once until it is made. Any running instance then carries out the requested
 * deliveries: one that is queued does not wait for its next attempt any longer.
 */
@CommandHandler(ReplayDeliveries)
export class ReplayDeliveriesHandler implements ICommandHandler<ReplayDeliveries> {
  constructor(private readonly log: EventLog) {}

  async execute(command: ReplayDeliveries, control: ReplayControl = {}): Promise<ReplayCounts> {
    const counts: ReplayCounts = { requested: 0, byStatus: {} };
    let examined = 0;
    for await (const received of this.readReceived(command.request)) {
      const { status, requested } = await this.replayOne(received, command, control);
      counts.byStatus[status] = (counts.byStatus[status] ?? 0) + 1;
      if (requested) counts.requested += 1;
      examined += 1;
      await control.onProgress?.(examined, received.position, counts);
    }
    return counts;
  }

  private async *readReceived({ site, range }: ReplayRequest): AsyncGenerator<Received> {
    const types = ['conversion.received.v1'] as const;
    if ('conversion' in range) {
      const [opening] = await this.log.readStream(CONVERSION, range.conversion);
      if (opening?.type === 'conversion.received.v1' && opening.site === site) yield opening;
      return;
    }
    for (let { after } = range; ; ) {
      const page = await this.log.read({ after, until: range.until, site, types, limit: PAGE_EVENTS });
      yield* page;
      const last = page.at(-1);
      if (!last) return;
      after = last.position;
    }
  }

  private async replayOne(received: Received, command: ReplayDeliveries, control: ReplayControl) {
    const { platform, force, dryRun, statuses } = command.request;
    for (;;) {
      const events = await this.log.readStream(CONVERSION, received.data.conversionId);
      const known = foldDeliveries(events).find((candidate) => candidate.platform === platform);
      const status = known ? resultOf(known.last, false).status : 'not_connected';
      const isWanted = (force && known) || (statuses as readonly string[]).includes(status);
      if (!isWanted || received.data.trial) return { status, requested: false };
      if (known && (force ? isForced(known) : isBeingAttempted(received, known, command.request)))
        return { status, requested: false };
      const delivery = known ?? { platform, attempts: 0, last: undefined };
      if (dryRun || (await this.append(received, events, delivery, command, control)))
        return { status, requested: true };
      // Another event was appended to the stream meanwhile: decide again.
    }
  }

  /** False if the stream has changed since the decision. */
  private async append(
    { data, site }: Received,
    events: readonly StoredEvent[],
    delivery: Delivery,
    { request, actor }: ReplayDeliveries,
    { notAfterMs }: ReplayControl,
  ): Promise<boolean> {
    const outcome = await this.log.append({
      category: CONVERSION,
      stream: data.conversionId,
      // Not their number: a log of version 0.2 or earlier may hold two events of one version.
      expected: events.at(-1)?.version ?? 0,
      site,
      actor,
      events: [{ type: 'conversion.send_requested.v1', data: sendRequestOf(data, events, delivery, request) }],
      notAfterMs: notAfterMs?.(),
    });
    return outcome.status === 'appended';
  }
}

/** It was requested under a new id, or again under that one, and waits: another request would replace it, not add one. */
function isForced({ last, eventId }: Delivery): boolean {
  return !last && eventId !== undefined;
}

/** The instance that received the conversion makes the first attempt. Another request would repeat it. */
function isBeingAttempted({ time }: Received, { last, attempts }: Delivery, { nowMs }: ReplayRequest): boolean {
  return !last && attempts === 0 && nowMs - Date.parse(time) < INTERVALS.attempts.owedAfterMs;
}
