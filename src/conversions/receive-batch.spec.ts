import { InMemoryLog } from '../../test/support/in-memory-log.js';
import type { DeliveryService } from '../delivery/delivery.service.js';
import type { ReceivedConversion } from '../delivery/received-conversion.js';
import { LogUnavailable } from '../kernel/errors.js';
import { Shutdown } from '../kernel/shutdown.js';
import type { AppendRequest } from '../log/event.js';
import type { SiteKey } from '../sites/site.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { DEFAULT_SITE_SETTINGS } from '../sites/site-settings.js';
import type { Matcher } from '../visitors/matcher.js';
import type { VisitorRecord } from '../visitors/visitor-record.js';
import type { InboundFields } from './inbound/inbound-field.js';
import { ReceiveBatchHandler } from './receive-batch.handler.js';
import { ReceiveBatch, ReceiveConversion } from './receive-conversion.command.js';
import { ConversionReceiver } from './receive-conversion.handler.js';

const DAY_MS = 24 * 60 * 60 * 1_000;
const RULES = { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS };
const NO_VISIT: VisitorRecord = { identifiers: [], consent: [] };
const BLOCKED = 'jane@blocked.example';
const SITE = {
  site: { host: 'shop.example', settings: { ...DEFAULT_SITE_SETTINGS, blocked: ['@blocked.example'] } },
  ...{ dedupSecret: 's', connections: new Map([['meta', { connection: { settings: {} } }]]) },
} as unknown as LoadedSite;

/** Fails the appends of an order. */
class FailingLog extends InMemoryLog {
  attempts = 0;
  readonly claimed: string[] = [];
  failNext: Error | undefined;

  constructor(private readonly failures: Readonly<Record<string, Error>> = {}) {
    super();
  }

  override append(request: AppendRequest) {
    this.attempts += 1;
    if (request.claim) this.claimed.push(request.claim.key);
    const failure = this.failNext ?? this.failures[request.events[0].reference ?? ''];
    this.failNext = undefined;
    return failure ? Promise.reject(failure) : super.append(request);
  }
}

function setUp(failures?: Record<string, Error>, find: Matcher['find'] = async () => NO_VISIT) {
  const log = new FailingLog(failures);
  const delivered: ReceivedConversion[] = [];
  const deliveries = {
    queue: (received: ReceivedConversion) => {
      delivered.push(received);
      return { meta: { ok: false, status: 'queued', reason: 'pending' } };
    },
  } as unknown as DeliveryService;
  const shutdown = new Shutdown(10_000);
  const clock = { nowMs: () => Date.now() };
  const matcher = { find, absent: () => undefined } as unknown as Matcher;
  const handler = new ReceiveBatchHandler(new ConversionReceiver(log, matcher, clock), deliveries, shutdown);
  const receive = async (orders: readonly string[], emails: readonly string[] = []) => {
    const key = { id: 'k1', trial: false } as SiteKey;
    const commands = orders.map((orderId, index) => {
      const fields: InboundFields = {
        email: emails[index] ?? 'jane@example.com',
        event: 'lead',
        currency: 'EUR',
        orderId,
      };
      return new ReceiveConversion(SITE, key, fields, RULES);
    });
    return handler.execute(new ReceiveBatch(commands));
  };
  return { log, delivered, shutdown, receive };
}

const values = (results: readonly PromiseSettledResult<unknown>[]) =>
  results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason));

describe('a batch', () => {
  it('is stored in order, and its deliveries are queued after the commit', async () => {
    const { log, delivered, receive } = setUp();
    const orders = Array.from({ length: 1_000 }, (_, index) => `ORD-${index}`);
    const results = await receive(orders);
    const events = await log.read({ types: ['conversion.received.v1'] });
    expect(events.map(({ data }) => data.orderId)).toEqual(orders);
    expect(values(results)).toEqual(
      events.map(({ data: { conversionId } }) => ({
        conversionId,
        receipt: { ok: true, event: 'lead', results: { meta: { ok: false, status: 'queued', reason: 'pending' } } },
      })),
    );
    expect(delivered.map(({ position }) => position)).toEqual(events.map(({ position }) => position));
  });

  it('counts the first of equal conversions, also if its visit is found last', async () => {
    let finish: (record: VisitorRecord) => void = () => {};
    const first = new Promise<VisitorRecord>((resolve) => {
      finish = resolve;
    });
    let lookups = 0;
    const { log, delivered, receive } = setUp({}, () => {
      lookups += 1;
      if (lookups === 2) setImmediate(() => finish(NO_VISIT));
      return lookups === 1 ? first : Promise.resolve(NO_VISIT);
    });
    const results = values(await receive(['A', 'A', 'B', 'A'])) as {
      conversionId: string;
      firstConversionId?: string;
    }[];
    const deduped = { receipt: { ok: true, deduped: true }, firstConversionId: results[0]?.conversionId };
    expect(results).toMatchObject([{ receipt: { event: 'lead' } }, deduped, { receipt: { event: 'lead' } }, deduped]);
    expect(delivered).toHaveLength(2);
    const events = await log.read({ types: ['conversion.deduplicated.v1'] });
    expect(events.map(({ data }) => data.differs)).toEqual([[], []]);
  });

  it('claims a dedup key once, however often it occurs', async () => {
    const { log, receive } = setUp();
    await receive(Array.from({ length: 200 }, () => 'A'));
    // A second claim would wait for the commit of the first.
    expect(log.claimed).toHaveLength(1);
    expect(await log.read({ types: ['conversion.deduplicated.v1'] })).toHaveLength(199);
  });

  it('stores the conversion after a filtered one with its dedup key, and no further one', async () => {
    const { log, delivered, receive } = setUp();
    const results = values(await receive(['A', 'A', 'A', 'A'], [BLOCKED, BLOCKED, 'jane@example.com', BLOCKED]));
    expect(results).toMatchObject([
      { receipt: { filtered: true } },
      { receipt: { deduped: true } },
      { receipt: { event: 'lead' } },
      { receipt: { deduped: true } },
    ]);
    const [first, second, third, fourth] = results as { conversionId: string; firstConversionId?: string }[];
    expect([second?.firstConversionId, fourth?.firstConversionId]).toEqual([first?.conversionId, third?.conversionId]);
    expect(delivered).toHaveLength(1);
    expect(log.claimed).toHaveLength(2);
  });

  it('attempts a conversion by itself if the log refuses an earlier one with its dedup key for good', async () => {
    const refused = new Error('The log refused the event');
    const { log, delivered, receive } = setUp();
    log.failNext = refused;
    expect(values(await receive(['A', 'A', 'A']))).toMatchObject([
      refused,
      { receipt: { event: 'lead' } },
      { receipt: { deduped: true } },
    ]);
    expect(delivered).toHaveLength(1);
  });

  it('answers for each conversion that is refused, and stores the others', async () => {
    const refused = new Error('The log refused the event');
    const { delivered, receive } = setUp({ B: refused });
    expect(values(await receive(['A', 'B', 'C']))).toMatchObject([{ receipt: {} }, refused, { receipt: {} }]);
    expect(delivered.map(({ data }) => data.orderId)).toEqual(['A', 'C']);
  });

  it('does not attempt the rest once the log is unavailable', async () => {
    const unavailable = new LogUnavailable('down');
    const { log, delivered, receive } = setUp({ 'ORD-150': unavailable });
    const results = await receive(Array.from({ length: 450 }, (_, index) => `ORD-${index}`));
    const failed = results.flatMap((result, index) => (result.status === 'rejected' ? [[index, result.reason]] : []));
    expect(failed).toEqual([
      [150, unavailable],
      ...Array.from({ length: 250 }, (_, index) => [200 + index, expect.any(LogUnavailable)]),
    ]);
    expect(log.attempts).toBe(200);
    expect(delivered).toHaveLength(199);
  });

  it('is not attempted when the service is about to end', async () => {
    const { log, shutdown, receive } = setUp();
    Object.defineProperty(shutdown, 'isUrgent', { value: true });
    expect(values(await receive(['A', 'B']))).toEqual([expect.any(LogUnavailable), expect.any(LogUnavailable)]);
    expect(log.attempts).toBe(0);
  });

  it('lets other work of the event loop run in between', async () => {
    const { receive } = setUp({}, async () => {
      // Each conversion takes longer than a turn may take.
      for (const end = performance.now() + 6; performance.now() < end; );
      return NO_VISIT;
    });
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 0);
    await receive(['A', 'B', 'C', 'D', 'E', 'F']);
    clearInterval(timer);
    expect(turns).toBeGreaterThanOrEqual(3);
  });
});
