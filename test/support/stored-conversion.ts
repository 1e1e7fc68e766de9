import { buildPayload, type DeliveryPayload } from '../../src/delivery/payload/payload.js';
import { sampleReceived } from '../../src/delivery/payload/sample-conversion.js';
import { type ReceivedConversion } from '../../src/delivery/received-conversion.js';
import type { ConversionPersonal } from '../../src/events/conversion.events.js';
import type { Outcome } from '../../src/events/delivery.events.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { EventLog } from '../../src/log/event-log.js';
import { platformOf } from '../../src/platforms/index.js';
import type { Platform } from '../../src/platforms/platform.js';

export const NOW_MS = Date.parse('2026-03-01T10:16:00Z');

export interface StoredConversion {
  readonly site: string;
  readonly orderId: string;
  /** Settings of the connection to Meta. */
  readonly settings: Record<string, string>;
  /** Other than those of the sample. */
  readonly facts?: Partial<ReceivedConversion['data']>;
  /** Undefined: as versions before 0.3 stored it. */
  readonly payloadKey?: string | undefined;
  /** Outcomes of the attempts, which all have the digest of the payload. */
  readonly outcomes: readonly (Pick<Outcome, 'status'> & Partial<Outcome>)[];
}

/** Stores the sample conversion with its attempts at Meta, as the service does. Resolves with its id. */
export async function storeConversion(log: EventLog, stored: StoredConversion): Promise<string> {
  const { site, orderId, settings, facts, outcomes } = stored;
  const { data, personal: sample } = sampleReceived(NOW_MS);
  const payloadKey = 'payloadKey' in stored ? stored.payloadKey : uuidv7();
  const personal = { ...(sample as ConversionPersonal), payloadKey };
  const received = { ...data, ...facts, orderId, platforms: ['meta'] as const, settings: await log.head() };
  const { conversionId } = received;
  const stream = { category: 'conversion', stream: conversionId, expected: 'any', site } as const;
  const opening = { type: 'conversion.received.v1', data: received, personal, reference: orderId };
  const appended = await log.append({ ...stream, actor: `key:${data.keyId}`, events: [opening] as never });
  const { time } = appended as { time: string };
  const conversion = { position: 0, site, time, data: received, personal } as ReceivedConversion;
  const payload = buildPayload(conversion, platformOf('meta') as Platform, settings, received);
  const { bodySha256 } = payload as DeliveryPayload;
  const attempts = outcomes.map((outcome, index) => ({
    type: `conversion.${outcome.status}.v1`,
    data: { conversionId, platform: 'meta', attempt: index + 1, bodySha256, ...outcome },
  }));
  if (attempts.length > 0) await log.append({ ...stream, actor: 'system', events: attempts as never });
  return conversionId;
}
