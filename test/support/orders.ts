import { outcomeType } from '../../src/delivery/delivery.js';
import { withOrder } from '../../src/delivery/payload/read-order.js';
import type { ReceivedConversion } from '../../src/delivery/received-conversion.js';
import { CONVERSION } from '../../src/events/conversion.events.js';
import type { Outcome } from '../../src/events/delivery.events.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { StoredEvent } from '../../src/log/event.js';
import { InMemoryLog } from './in-memory-log.js';

const SITE = 'shop.example';

/** A log with the orders of a site, whose conversions are delivered to google_ads. */
export class Orders {
  nowMs = Date.parse('2026-03-01T10:00:00.500Z');
  readonly log = new InMemoryLog(() => this.nowMs);

  async receive(data: object = {}, type = 'conversion.received.v1', site = SITE): Promise<string> {
    const conversionId = uuidv7();
    const opening = {
      type,
      data: {
        ...{ conversionId, event: 'purchase', value: 100, currency: 'EUR', orderId: 'A', keyId: 'k', trial: false },
        ...{ platforms: ['google_ads'], settings: 1, payloadVersion: 2, ...data },
      },
      personal: { subject: 's'.repeat(64), emailGoogle: 'e'.repeat(64) },
      reference: 'A',
    };
    await this.log.append({
      ...{ category: CONVERSION, stream: conversionId, expected: 'new', site, actor: 'key:k' },
      events: [opening],
    });
    return conversionId;
  }

  /** A correction of order A, received a minute after the previous event. */
  async refund(value?: number, data: object = {}): Promise<string> {
    this.nowMs += 60_000;
    return this.receive({ event: 'refund', value, correction: true, ...data });
  }

  async record(conversionId: string, status: Outcome['status'], more: Partial<Outcome> = {}): Promise<void> {
    const data: Outcome = { conversionId, platform: 'google_ads', attempt: 1, status, ...more };
    await this.append(conversionId, outcomeType(status), data);
  }

  async append(conversionId: string, type: string, data: object): Promise<void> {
    await this.log.append({
      ...{ category: CONVERSION, stream: conversionId, expected: 'any', site: SITE, actor: 'system' },
      events: [{ type, data: { conversionId, platform: 'google_ads', ...data } }],
    });
  }

  /** The correction with its order, as a delivery reads it. */
  async read(conversionId: string): Promise<ReceivedConversion> {
    const [opening] = await this.log.readStream(CONVERSION, conversionId);
    return withOrder(this.log, opening as StoredEvent<'conversion.received.v1'>);
  }
}
