import { Injectable } from '@nestjs/common';
import { resultsOf } from '../delivery/delivery.js';
import { CONVERSION } from '../events/conversion.events.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import { isUuid } from '../kernel/uuid.js';
import { EventLog } from '../log/event-log.js';
import { isOpening } from './conversion.js';
import { type Receipt, receiptOf } from './receipt.js';

export interface FoundReceipt {
  readonly conversionId: string;
  readonly receipt: Receipt;
}

/** Receipts as of now, for senders who ask later. A site sees its own conversions only. */
@Injectable()
export class Receipts {
  constructor(private readonly log: EventLog) {}

  async byId(site: string, conversionId: string): Promise<FoundReceipt | undefined> {
    if (!isUuid(conversionId)) return undefined;
    return this.tell(site, conversionId.toLowerCase());
  }

  /**
   * The newest conversion with the order that was not a repeat of another one; with `event`, of that name. Trial keys
   * see trial conversions, others the real ones: as with duplicates, each has a space of its own.
   */
  async byOrder(site: string, trial: boolean, orderId: string, event?: string): Promise<FoundReceipt | undefined> {
    // PostgreSQL has no such text, so no order is called that; it would refuse the question.
    if (orderId.includes('\0')) return undefined;
    const openings = (await withLogTimeout(this.log.find(site, orderId)))
      .filter(isOpening)
      .filter(({ data }) => data.trial === trial && (event === undefined || data.event === event));
    const first = openings.filter(({ type }) => type !== 'conversion.deduplicated.v1').at(-1);
    return first && this.tell(site, first.data.conversionId);
  }

  private async tell(site: string, conversionId: string): Promise<FoundReceipt | undefined> {
    const events = await withLogTimeout(this.log.readStream(CONVERSION, conversionId));
    const [opening] = events;
    if (opening?.site !== site || !isOpening(opening)) return undefined;
    return { conversionId, receipt: receiptOf(opening, resultsOf(events)) };
  }
}
