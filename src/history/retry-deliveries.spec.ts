import { jest } from '@jest/globals';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { ConversionEvents } from '../../test/support/statistics.js';
import type { ReplayDeliveries } from '../delivery/replay-deliveries.command.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { Site } from '../sites/site.js';
import { type RetryDependencies, type RetryRequest, retryDeliveries } from './retry-deliveries.js';

const SITE = { id: uuidv7(), host: 'shop.example', connections: [{ platform: 'meta', settings: {} }] };

describe('a retry', () => {
  let log: InMemoryLog;
  let events: ConversionEvents;
  let requested: unknown[];
  let retry: (request: Partial<RetryRequest>) => ReturnType<typeof retryDeliveries>;

  beforeEach(() => {
    log = new InMemoryLog();
    events = new ConversionEvents(log, SITE.host);
    requested = [];
    const commands = {
      execute: async ({ request }: ReplayDeliveries) => {
        requested.push('conversion' in request.range && request.range.conversion);
        return { requested: 1, byStatus: { failed: 1 } };
      },
    };
    const postgres = { clock: { nowMs: Date.now } };
    const secrets = { dedupSecret: async () => 'secret' };
    const dependencies = { log, commands, postgres, secrets } as unknown as RetryDependencies;
    retry = (request) =>
      retryDeliveries(
        dependencies,
        SITE as unknown as Site,
        { statuses: ['failed'], force: false, dryRun: false, limit: 1, ...request },
        'user:ada',
      );
  });

  const failed = (id: string, attempt: number, reason = 'HTTP 500') =>
    events.outcome(id, 'failed', 'meta', { attempt, reason });

  const severalFailed = async () => {
    const decided = () => events.decided('received', 'aa'.repeat(32), { orderId: 'A' }, {}, 'A');
    const ids = [await decided(), await decided()] as const;
    for (const id of ids) await failed(id, 1);
    return ids;
  };

  const firstAttemptOf = async (id: string) =>
    (await log.readStream('conversion', id)).find(({ type }) => type === 'conversion.failed.v1') as {
      position: number;
    };

  it('does not send what an earlier page sent, though older attempts of it are on this one', async () => {
    const id = await events.decided('received', 'aa'.repeat(32));
    await failed(id, 1);
    await failed(id, 2);
    const first = await retry({ conversion: id });
    expect(first).toMatchObject({ requested: 1, next: { before: 3, until: 3 } });
    await failed(id, 3);
    expect(await retry({ conversion: id, cursor: first.next })).toMatchObject({ requested: 0 });
    expect(requested).toEqual([id]);
  });

  it('sends a delivery of a later page though it was attempted again since the first one', async () => {
    const ids = await severalFailed();
    const first = await retry({ order: 'A' });
    await failed(ids[0], 2);
    await retry({ order: 'A', cursor: first.next });
    expect(requested).toEqual([ids[1], ids[0]]);
  });

  it('by a reason sends a delivery of a later page though a newer attempt of it failed for another reason', async () => {
    const ids = await severalFailed();
    for (const id of ids) await failed(id, 2, 'Timed out');
    await failed(ids[0], 3);
    const first = await retry({ order: 'A', reason: 'timed' });
    await retry({ order: 'A', reason: 'timed', cursor: first.next });
    expect(requested).toEqual([ids[1], ids[0]]);
  });

  it('sends a delivery of a later page though it was attempted again after the end of the selected range', async () => {
    const ids = await severalFailed();
    const to = { position: (await log.head()) + 1 };
    await failed(ids[0], 2);
    const first = await retry({ order: 'A', to });
    await retry({ order: 'A', to, cursor: first.next });
    expect(requested).toEqual([ids[1], ids[0]]);
  });

  it('ends in time also if an earlier page has sent everything that it finds', async () => {
    const ids = await severalFailed();
    for (const id of ids) await failed(id, 2);
    const first = await retry({ order: 'A', limit: 2 });
    let nowMs = 0;
    jest.spyOn(performance, 'now').mockImplementation(() => {
      nowMs += 6_000;
      return nowMs;
    });
    const second = await retry({ order: 'A', limit: 2, cursor: first.next });
    jest.restoreAllMocks();
    expect(second.next?.before).toBe((await firstAttemptOf(ids[1])).position);
    expect(requested).toEqual([ids[1], ids[0]]);
  });

  it('finds the newest conversions of an order that was sent any number of times', async () => {
    const ids: string[] = [];
    for (let count = 0; count < 101; count += 1) {
      ids.push(await events.decided('received', 'aa'.repeat(32), { orderId: 'A' }, {}, 'A'));
      await failed(ids[count] as string, 1);
    }
    await retry({ order: 'A', limit: 500 });
    expect(requested).toEqual(ids.slice(1).reverse());
  });

  it('takes only deliveries with an attempt that ended as asked for', async () => {
    const [rejected, refused] = [
      await events.decided('received', 'aa'.repeat(32), { orderId: 'A' }, {}, 'A'),
      await events.decided('received', 'bb'.repeat(32), { orderId: 'A' }, {}, 'A'),
    ];
    await events.outcome(rejected, 'rejected', 'meta', { attempt: 1 });
    await failed(refused, 1);
    await retry({ order: 'A', outcome: 'rejected', limit: 500 });
    await retry({ order: 'A', outcome: 'failed', limit: 500 });
    await retry({ order: 'A', outcome: 'skipped', limit: 500 });
    expect(requested).toEqual([rejected, refused]);
  });

  it('with force does not continue: the only delivery was sent', async () => {
    const id = await events.decided('received', 'aa'.repeat(32));
    await failed(id, 1);
    await failed(id, 2);
    const forced = await retry({ conversion: id, connection: 'meta' as ConnectionName, force: true });
    expect(forced).toMatchObject({ requested: 1 });
    expect(forced.next).toBeUndefined();
  });
});
