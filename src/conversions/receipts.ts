import { Injectable } from '@nestjs/common';
import { resultsOf } from '../delivery/delivery.js';
import { CONVERSION } from '../events/conversion.events.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import { isUuid } from '../kernel/uuid.js';
import { EventLog } from '../log/event-log.js';
import { type SiteScope, scopeStart } from '../sites/site.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { storedForms } from './address-digest.js';
import { isOpening } from './conversion.js';
import { findOrder } from './find-order.js';
import { type Receipt, receiptOf } from './receipt.js';

export interface FoundReceipt {
  readonly conversionId: string;
  readonly receipt: Receipt;
}

/** Current receipts. A site sees only its own conversions. */
@Injectable()
export class Receipts {
  constructor(private readonly log: EventLog) {}

  /**
   * A trial key sees only trial conversions: it is given to anyone who tries something out. Another key, which may see
   * what is received, also sees what was tried.
   */
  async byId({ site }: LoadedSite, trial: boolean, conversionId: string): Promise<FoundReceipt | undefined> {
    if (!isUuid(conversionId)) return undefined;
    return this.read(site, conversionId.toLowerCase(), trial);
  }

  /**
   * The newest conversion of the order that is not a duplicate; corrections only by their event name. Trial keys see only trial
   * conversions, other keys only real ones.
   */
  async byOrder(
    { site, dedupSecret }: LoadedSite,
    trial: boolean,
    orderId: string,
    event?: string,
  ): Promise<FoundReceipt | undefined> {
    // PostgreSQL cannot store NUL in text, so no order has it, and the query would fail.
    if (orderId.includes('\0')) return undefined;
    const events = event === undefined ? undefined : storedForms(dedupSecret, event);
    const openings = (await withLogTimeout(findOrder(this.log, site, dedupSecret, orderId))).filter(
      ({ data }) => data.trial === trial && (events === undefined ? !data.correction : events.includes(data.event)),
    );
    const first = openings.filter(({ type }) => type !== 'conversion.deduplicated.v1').at(-1);
    return first && this.read(site, first.data.conversionId, trial);
  }

  private async read(site: SiteScope, conversionId: string, trial: boolean): Promise<FoundReceipt | undefined> {
    const events = await withLogTimeout(this.log.readStream(CONVERSION, conversionId));
    const [opening] = events;
    if (opening?.site !== site.host || opening.position <= scopeStart(site) || !isOpening(opening)) return undefined;
    if (trial && !opening.data.trial) return undefined;
    return { conversionId, receipt: receiptOf(opening, resultsOf(events)) };
  }
}
