import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { CONVERSION } from '../events/conversion.events.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { SiteKey } from '../sites/site.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { storedText } from './address-digest.js';
import type { InboundFields } from './inbound/inbound-field.js';
import { readInboundFields } from './inbound/inbound-fields.js';
import { type ConversionDelivery, ReceiveConversion } from './receive-conversion.command.js';
import { withStoredSpelling } from './stored-spelling.js';

const SECRET = 'secret';
const NFD = 'Bestellung-fu\u0308r-1';
const NFC = 'Bestellung-f\u00fcr-1';

describe('the spelling of a conversion', () => {
  let log: InMemoryLog;
  beforeEach(() => {
    log = new InMemoryLog(() => 0);
  });

  /** As versions before 0.3 stored it. */
  async function storeAsSent(event: string, sent: string): Promise<void> {
    const orderId = storedText(SECRET, sent);
    const conversionId = uuidv7();
    const data = { conversionId, event, orderId, currency: 'EUR', keyId: 'k1', trial: false };
    await log.append({
      category: CONVERSION,
      stream: conversionId,
      expected: 'new',
      site: 'shop.example',
      actor: 'key:k1',
      events: [{ type: 'conversion.received.v1', data, personal: { subject: 'a' }, reference: orderId } as never],
    });
  }

  async function spelled(event: string, orderId?: string): Promise<Partial<InboundFields>> {
    const body = { email: 'jane@example.com', event, ...(orderId !== undefined && { orderId }) };
    const reading = readInboundFields(body, { rawBody: '', clock: { nowMs: () => 0 }, isStrict: false });
    if (!reading.ok) throw new Error(reading.error);
    const site = { site: { host: 'shop.example' }, dedupSecret: SECRET } as LoadedSite;
    const rules = { dedupWindowMs: 1, identifierTtlMs: 1 };
    const command = new ReceiveConversion(site, { id: 'k1' } as SiteKey, reading.fields, rules);
    const { fields } = await withStoredSpelling(log, command);
    return { event: fields.event, ...(fields.orderId !== undefined && { orderId: fields.orderId }) };
  }

  it('leaves the delivery that the conversion was made of', async () => {
    const reading = readInboundFields(
      { email: 'jane@example.com', event: ' purchase ', orderId: 'A' },
      { rawBody: '', clock: { nowMs: () => 0 }, isStrict: false },
    );
    if (!reading.ok) throw new Error(reading.error);
    const site = { site: { host: 'shop.example' }, dedupSecret: SECRET } as LoadedSite;
    const delivery = { conversionId: uuidv7(), data: {}, personal: {} } as ConversionDelivery;
    const rules = { dedupWindowMs: 1, identifierTtlMs: 1 };
    const command = new ReceiveConversion(site, { id: 'k1' } as SiteKey, reading.fields, rules, undefined, delivery);
    expect((await withStoredSpelling(log, command)).delivery).toBe(delivery);
  });

  it('is canonical if no order is stored in another spelling', async () => {
    await storeAsSent('purchase', NFC);
    expect(await spelled(' purchase', NFD)).toEqual({ event: 'purchase', orderId: NFC });
    expect(await spelled(' lead ')).toEqual({ event: 'lead' });
  });

  it('is that of the stored order, for the order id and the event separately', async () => {
    await storeAsSent(' purchase ', 'A');
    await storeAsSent('purchase', NFD);
    await storeAsSent('purchase', ' jane@example.com');
    expect(await spelled(' purchase ', 'A')).toEqual({ event: ' purchase ', orderId: 'A' });
    expect(await spelled(' refund ', NFD)).toEqual({ event: 'refund', orderId: NFD });
    expect(await spelled('purchase', ' jane@example.com')).toEqual({ event: 'purchase', orderId: ' jane@example.com' });
    expect(await spelled('purchase', ' A ')).toEqual({ event: 'purchase', orderId: 'A' });
  });
});
