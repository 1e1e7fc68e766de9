import fc from 'fast-check';
import { InMemoryLog } from '../../../test/support/in-memory-log.js';
import { outcomeType } from '../../delivery/delivery.js';
import { CONVERSION } from '../../events/conversion.events.js';
import { type OutcomeStatus } from '../../events/delivery.events.js';
import type { NewEvent, StoredEvent } from '../../log/event.js';
import type { StreamCheck } from '../verify.js';
import { conversionsCheck } from './conversions.check.js';
import { deliveriesCheck } from './deliveries.check.js';
import { versionsCheck } from './versions.check.js';

type TypeAndData = readonly [type: string, data: object];

const PLATFORMS = ['meta', 'tiktok', 'webhook'] as const;
const INTERMEDIATE: readonly OutcomeStatus[] = ['deferred', 'accepted'];
const FINAL: readonly OutcomeStatus[] = ['delivered', 'confirmed', 'rejected', 'skipped', 'failed', 'validated'];

/** Appends each list of events to a separate stream, in this order, and reads the streams back. */
async function store(...conversions: readonly (readonly TypeAndData[])[]): Promise<StoredEvent[][]> {
  const log = new InMemoryLog();
  const streams: StoredEvent[][] = [];
  for (const [index, events] of conversions.entries()) {
    const conversionId = `00000000-0000-7000-8000-${String(index).padStart(12, '0')}`;
    await log.append({
      category: CONVERSION,
      stream: conversionId,
      expected: 'new',
      site: 'shop.example',
      actor: 'system',
      events: events.map(([type, data]) => ({ type, data: { conversionId, ...data } })) as [NewEvent, ...NewEvent[]],
    });
    streams.push(await log.readStream(CONVERSION, conversionId));
  }
  return streams;
}

function run(check: StreamCheck, streams: readonly (readonly StoredEvent[])[]) {
  for (const events of streams) check.read(events);
  return check.finish();
}

/** The events of a conversion: an opening event and, if it was received, outcomes of some of its platforms. */
const conversionEvents = fc
  .record({
    opening: fc.constantFrom('received', 'deduplicated', 'filtered'),
    platforms: fc.subarray([...PLATFORMS]),
    attempts: fc.array(
      fc.record({ platform: fc.constantFrom(...PLATFORMS), status: fc.constantFrom(...INTERMEDIATE) }),
      { maxLength: 6 },
    ),
    finals: fc.dictionary(fc.constantFrom(...PLATFORMS), fc.constantFrom(...FINAL)),
  })
  .map(({ opening, platforms, attempts, finals }): TypeAndData[] => {
    const isReceived = opening === 'received';
    const outcomes = [
      ...attempts.map(({ platform, status }) => [platform, status] as const),
      ...Object.entries(finals),
    ].filter(([platform]) => isReceived && (platforms as string[]).includes(platform));
    return [
      [`conversion.${opening}.v1`, isReceived ? { platforms } : {}],
      ...outcomes.map(([platform, status]) => [outcomeType(status), { platform, status, attempt: 1 }] as const),
    ];
  });

describe('stream checks', () => {
  it('pass at every position of any valid history', async () => {
    const property = fc.asyncProperty(fc.array(conversionEvents, { maxLength: 5 }), fc.nat(), async (all, cut) => {
      const streams = await store(...all.map((events) => events.slice(0, 1 + (cut % events.length))));
      for (const check of [versionsCheck(() => false), conversionsCheck(() => false), deliveriesCheck(() => false)])
        expect([check.name, run(check, streams)]).toEqual([check.name, expect.objectContaining({ ok: true })]);
    });
    await fc.assert(property);
  });

  const received = ['conversion.received.v1', { platforms: ['meta'] }] as const;
  const delivered = ['conversion.delivered.v1', { platform: 'meta', status: 'delivered', attempt: 1 }] as const;

  it('count the deliveries of a platform by status', async () => {
    const streams = await store([received], [received, delivered], [received, delivered]);
    expect(
      run(
        deliveriesCheck(() => false),
        streams,
      ),
    ).toEqual({
      ok: true,
      detail: 'meta: received 3 = queued 1 + delivered 2',
    });
  });

  it('report an outcome after a final one, unless an operator requested the delivery', async () => {
    expect(
      run(
        deliveriesCheck(() => false),
        await store([received, delivered, delivered]),
      ),
    ).toEqual({
      ok: false,
      detail: expect.stringMatching(/position 3: meta already had the final outcome delivered/),
    });
    const requested = ['conversion.send_requested.v1', { platform: 'meta', attempt: 1, settings: 1 }] as const;
    const streams = await store([received, delivered, requested, delivered]);
    expect(
      run(
        deliveriesCheck(() => false),
        streams,
      ).ok,
    ).toBe(true);
  });

  it('report an outcome whose status differs from its type', async () => {
    const failed = ['conversion.failed.v1', { platform: 'meta', status: 'delivered', attempt: 1 }] as const;
    expect(
      run(
        deliveriesCheck(() => false),
        await store([received, failed]),
      ).detail,
    ).toMatch(/has the type conversion.failed.v1 but the status delivered/);
  });

  it('report a conversion with two opening events, or with none', async () => {
    expect(
      run(
        conversionsCheck(() => false),
        await store([received, received]),
      ).detail,
    ).toMatch(/has 2 opening events/);
    expect(
      run(
        conversionsCheck(() => false),
        await store([delivered]),
      ).detail,
    ).toMatch(/starts with conversion.delivered.v1/);
  });

  it('report a gap in a stream, except at the start of a stream in a shortened log', async () => {
    const [events = []] = await store([received, delivered]);
    const withoutFirst = [events.slice(1)];
    expect(
      run(
        versionsCheck(() => false),
        withoutFirst,
      ).detail,
    ).toMatch(/has version 2 at position 2 instead of 1/);
    expect(
      run(
        versionsCheck(() => true),
        withoutFirst,
      ).ok,
    ).toBe(true);
    expect(
      run(
        deliveriesCheck(() => true),
        withoutFirst,
      ).ok,
    ).toBe(true);
  });

  it('list the first violations and count the rest', async () => {
    const streams = await store(...Array.from({ length: 8 }, () => [received, received]));
    expect(
      run(
        conversionsCheck(() => false),
        streams,
      ).detail,
    ).toMatch(/ and 4 more \(/);
  });
});
