import type { StoredDelivery } from '../../events/conversion.events.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { INBOUND, type InboundEvent } from '../../events/inbound.events.js';
import type { Clock } from '../../kernel/clock.js';
import { withLogTimeout } from '../../kernel/log-timeout.js';
import type { EventLog } from '../../log/event-log.js';
import type { SiteKey } from '../../sites/site.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import type { LoadedSource } from '../../sites/sources/loaded-source.js';
import { isOpening } from '../conversion.js';
import { findOrder } from '../find-order.js';
import {
  ConversionKnown,
  ReceiveConversion,
  type Received,
  type ReceiveRules,
  type RequestTrace,
} from '../receive-conversion.command.js';
import {
  conversionIdOf,
  type Delivery,
  type DeliveryDecision,
  decideDelivery,
  ignoredStreamOf,
  personalOf,
  readDelivery,
} from './source-delivery.js';
import type { DeliveryOutcome } from './source-metrics.js';

export interface DeliveryResult {
  readonly outcome: DeliveryOutcome;
  /** Why it was ignored. */
  readonly reason?: string;
  readonly conversionId?: string;
}

interface Dependencies {
  readonly log: Pick<EventLog, 'append' | 'find' | 'findOpened' | 'readStream'>;
  readonly clock: Clock;
  readonly rules: ReceiveRules;
  /** Stores the conversion; its deliveries are not waited for. */
  receive(command: ReceiveConversion): Promise<Received>;
}

/** Stores deliveries of sources: each once, as a conversion or as an event that states why it is none. */
export class SourceDeliveries {
  constructor(private readonly dependencies: Dependencies) {}

  async store(
    site: LoadedSite,
    source: LoadedSource,
    delivery: Delivery,
    trace?: RequestTrace,
    trial = false,
  ): Promise<DeliveryResult> {
    const key = keyOf(source, trial);
    const decision = await this.decide(site, delivery);
    if (decision.kind === 'ignored') {
      // Rules that are applied later would make a conversion of it.
      if (trial) return { outcome: 'ignored', reason: decision.reason };
      return this.ignore(site, key, delivery, decision.reason);
    }
    const { fields, isCorrection } = decision;
    const conversionId = conversionIdOf(site, key, delivery.data, fields, isCorrection);
    const personal: StoredDelivery = delivery.stored;
    const made = { conversionId, data: delivery.data, personal, readAt: delivery.readAt };
    const { rules } = this.dependencies;
    try {
      const command = new ReceiveConversion(site, key, fields, rules, trace, made);
      const { receipt, correction } = await this.dependencies.receive(command);
      if ('deduped' in receipt) return { outcome: 'deduplicated', conversionId };
      if ('filtered' in receipt) return { outcome: 'filtered', conversionId };
      return { outcome: correction ? 'corrected' : 'received', conversionId };
    } catch (error) {
      if (!(error instanceof ConversionKnown)) throw error;
      return this.known(site, key, delivery, conversionId);
    }
  }

  /** What `store` would do, without storing anything. */
  async preview(site: LoadedSite, source: LoadedSource, delivery: Delivery): Promise<DeliveryResult> {
    const decision = await this.decide(site, delivery);
    if (decision.kind === 'ignored') return { outcome: 'ignored', reason: decision.reason };
    const { fields, isCorrection } = decision;
    const conversionId = conversionIdOf(site, keyOf(source, false), delivery.data, fields, isCorrection);
    const opened = await withLogTimeout(this.dependencies.log.findOpened(CONVERSION, [conversionId]));
    if (opened.has(conversionId)) return { outcome: 'ignored', reason: 'order_known', conversionId };
    return { outcome: isCorrection ? 'corrected' : 'received', conversionId };
  }

  /** Reads the order of a correction that says nothing about the person. */
  async decide(site: LoadedSite, delivery: Delivery): Promise<Exclude<DeliveryDecision, { kind: 'order' }>> {
    const { log, clock } = this.dependencies;
    const decision = decideDelivery(site, delivery, clock);
    if (decision.kind !== 'order') return decision;
    const openings = await withLogTimeout(findOrder(log, site.site, site.dedupSecret, decision.orderId));
    const first = openings.find(({ type, data }) => type === 'conversion.received.v1' && !data.correction);
    if (!first) return { kind: 'ignored', reason: 'order_unknown' };
    const { subject, phone } = first.personal ?? {};
    const hashes = { ...(subject !== undefined && { subject }), ...(phone !== undefined && { phone }) };
    const read = readDelivery(site, decision.body, { hashes }, clock);
    return read.kind === 'order' ? { kind: 'ignored', reason: 'order_unknown' } : read;
  }

  /** The order has a conversion: of the same delivery, which then was repeated, or of another one. */
  private async known(
    site: LoadedSite,
    key: SiteKey,
    delivery: Delivery,
    conversionId: string,
  ): Promise<DeliveryResult> {
    const [opening] = await withLogTimeout(this.dependencies.log.readStream(CONVERSION, conversionId));
    if (opening && isOpening(opening) && opening.data.delivery?.digest === delivery.data.digest)
      return { outcome: 'repeated', conversionId };
    return this.ignore(site, key, delivery, 'order_known', conversionId);
  }

  private async ignore(
    loaded: LoadedSite,
    { id: keyId }: SiteKey,
    delivery: Delivery,
    reason: string,
    conversionId?: string,
  ): Promise<DeliveryResult> {
    const conversion = conversionId === undefined ? undefined : { conversionId };
    const event: InboundEvent = {
      type: 'inbound.delivery_ignored.v1',
      data: { ...delivery.data, keyId, reason, ...conversion },
      personal: personalOf(loaded, delivery),
    };
    const { status } = await this.dependencies.log.append({
      category: INBOUND,
      stream: ignoredStreamOf(loaded, delivery.data),
      expected: 0,
      site: loaded.site.host,
      actor: `key:${keyId}`,
      events: [event],
    });
    return { outcome: status === 'conflict' ? 'repeated' : 'ignored', reason, ...conversion };
  }
}

/** Conversions name the connection of the source where others name an API key. */
function keyOf({ connection: { keyId: id, createdAt }, source }: LoadedSource, trial: boolean): SiteKey {
  return { id, name: source.name, prefix: '', hash: '', trial, createdAt, status: 'active' };
}
