import fc from 'fast-check';
import { outcomeType } from '../../delivery/delivery.js';
import { type OutcomeStatus } from '../../events/delivery.events.js';
import type { StoredEvent } from '../../log/event.js';
import type { StreamBook } from '../verify.js';
import { conversionsBook } from './conversions-book.js';
import { deliveriesBook } from './deliveries-book.js';
import { versionsBook } from './versions-book.js';

const PLATFORMS = ['meta', 'tiktok', 'webhook'] as const;
const TRIES: readonly OutcomeStatus[] = ['deferred', 'accepted'];
const ENDS: readonly OutcomeStatus[] = ['delivered', 'confirmed', 'rejected', 'skipped', 'failed', 'validated'];

/** Events of one stream, numbered as the log numbers them. */
function stream(id: number, events: readonly (readonly [type: string, data: object])[]): StoredEvent[] {
  const name = `00000000-0000-7000-8000-${String(id).padStart(12, '0')}`;
  return events.map(([type, data], index) => ({
    position: id * 100 + index,
    id: `${id}-${index}`,
    type,
    stream: `conversion-${name}`,
    version: index + 1,
    site: 'shop.example',
    time: '2025-03-01T09:30:00.000Z',
    actor: 'system',
    data: { conversionId: name, ...data },
    personal: null,
  })) as StoredEvent[];
}

function closes(book: StreamBook, streams: readonly (readonly StoredEvent[])[]) {
  for (const events of streams) book.read(events);
  return book.close();
}

/** What can become of a conversion: for some platforms, some tries, and for some of those an end. */
const journey = fc
  .record({
    opening: fc.constantFrom('received', 'deduplicated', 'filtered'),
    platforms: fc.subarray([...PLATFORMS]),
    tries: fc.array(fc.record({ platform: fc.constantFrom(...PLATFORMS), status: fc.constantFrom(...TRIES) }), {
      maxLength: 6,
    }),
    ends: fc.dictionary(fc.constantFrom(...PLATFORMS), fc.constantFrom(...ENDS)),
  })
  .map(({ opening, platforms, tries, ends }) => {
    const outcome = (platform: string, status: OutcomeStatus) =>
      [outcomeType(status), { platform, status, attempt: 1 }] as const;
    const isSent = opening === 'received';
    const opened = [`conversion.${opening}.v1`, isSent ? { platforms } : {}] as const;
    const connected = (platform: string) => isSent && (platforms as string[]).includes(platform);
    const tried = tries
      .filter(({ platform }) => connected(platform))
      .map(({ platform, status }) => outcome(platform, status));
    const ended = Object.entries(ends)
      .filter(([platform]) => connected(platform))
      .map(([platform, status]) => outcome(platform, status));
    return [opened, ...tried, ...ended];
  });

describe('the books', () => {
  it('close at any position of any history', () => {
    fc.assert(
      fc.property(fc.array(journey, { maxLength: 5 }), fc.nat(), (journeys, cut) => {
        const streams = journeys.map((events, id) => stream(id + 1, events.slice(0, 1 + (cut % events.length))));
        for (const book of [versionsBook(false), conversionsBook(false), deliveriesBook(false)])
          expect([book.name, closes(book, streams)]).toEqual([book.name, expect.objectContaining({ ok: true })]);
      }),
    );
  });

  const received = ['conversion.received.v1', { platforms: ['meta'] }] as const;
  const delivered = ['conversion.delivered.v1', { platform: 'meta', status: 'delivered', attempt: 1 }] as const;

  it('count every status of a platform', () => {
    const streams = [stream(1, [received]), stream(2, [received, delivered]), stream(3, [received, delivered])];
    expect(closes(deliveriesBook(false), streams)).toEqual({
      ok: true,
      detail: 'meta: received 3 = queued 1 + delivered 2',
    });
  });

  it('see an outcome after the last one, unless an operator asked for it', () => {
    expect(closes(deliveriesBook(false), [stream(1, [received, delivered, delivered])])).toEqual({
      ok: false,
      detail: expect.stringMatching(/position 102: meta had delivered already/),
    });
    const asked = ['conversion.send_requested.v1', { platform: 'meta', attempt: 1, settings: 1 }] as const;
    expect(closes(deliveriesBook(false), [stream(1, [received, delivered, asked, delivered])]).ok).toBe(true);
  });

  it('see an outcome that says something else than its type', () => {
    const lying = ['conversion.failed.v1', { platform: 'meta', status: 'delivered', attempt: 1 }] as const;
    expect(closes(deliveriesBook(false), [stream(1, [received, lying])]).detail).toMatch(
      /is conversion.failed.v1 and says delivered/,
    );
  });

  it('see a conversion that opens twice, or not at all', () => {
    expect(closes(conversionsBook(false), [stream(1, [received, received])]).detail).toMatch(/opens 2 times/);
    expect(closes(conversionsBook(false), [stream(1, [delivered])]).detail).toMatch(
      /begins with conversion.delivered.v1/,
    );
  });

  it('see a gap in a stream; of a shortened log its beginning may be missing', () => {
    const events = stream(1, [received, delivered]);
    expect(closes(versionsBook(false), [events.slice(1)]).detail).toMatch(/has version 2 at position 101 instead of 1/);
    expect(closes(versionsBook(true), [events.slice(1)]).ok).toBe(true);
    expect(closes(deliveriesBook(true), [events.slice(1)]).ok).toBe(true);
  });

  it('name the first few wrongs and count the rest', () => {
    const wrong = Array.from({ length: 8 }, (_, id) => stream(id + 1, [received, received]));
    expect(closes(conversionsBook(false), wrong).detail).toMatch(/ and 4 more \(/);
  });
});
