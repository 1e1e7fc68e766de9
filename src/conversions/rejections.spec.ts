import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { checkData } from '../events/check-data.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import type { Shutdown } from '../kernel/shutdown.js';
import type { AppendOutcome, AppendRequest } from '../log/event.js';
import type { Caller } from './inbound/inbound-answers.js';
import type { InboundMetrics } from './inbound/inbound-metrics.js';
import { fieldRejection } from './rejection-reason.js';
import { Rejections } from './rejections.js';

const NOW = '2026-03-01T10:00:00.000Z';
const clock = { nowMs: () => Date.parse(NOW) };

/** Answers the next appends with a failure: before or after the event is stored. */
class UnreliableLog extends InMemoryLog {
  failures: ('refused' | 'answer lost')[] = [];

  override async append(request: AppendRequest): Promise<AppendOutcome> {
    const failure = this.failures.shift();
    if (failure === 'refused') throw new LogUnavailable('down');
    const outcome = await super.append(request);
    if (failure === 'answer lost') throw new LogUnavailable('The append timed out');
    return outcome;
  }
}

function setUp() {
  const log = new UnreliableLog();
  const metrics = { countRejection() {} } as object as InboundMetrics;
  const rejections = new Rejections(log, clock, metrics, {} as Shutdown, {} as Logger);
  const count = (host: string, keyId: string, reason: string) =>
    rejections.count({ loadedSite: { site: { host } }, key: { id: keyId } } as Caller, reason);
  const stored = async () =>
    (await log.read({ types: ['inbound.rejected.v1'] })).map(({ site, data }) => ({ site, ...data }));
  return { log, rejections, count, stored };
}

describe('Rejections', () => {
  it('stores one event per site and flush, with counts per reason and a sample', async () => {
    const { rejections, count, stored } = setUp();
    for (let row = 0; row < 1_000; row += 1) count('a.example', '1', row % 4 === 0 ? 'email' : 'syntax');
    count('a.example', '2', 'email');
    count('b.example', '3', 'value');
    await rejections.flush();
    const events = await stored();
    expect(events).toEqual([
      {
        site: 'a.example',
        since: NOW,
        count: 1_001,
        reasons: { email: 251, syntax: 750 },
        sample: [
          { time: NOW, reason: 'email', by: 'key:1' },
          { time: NOW, reason: 'syntax', by: 'key:1' },
          { time: NOW, reason: 'email', by: 'key:2' },
        ],
      },
      {
        site: 'b.example',
        since: NOW,
        count: 1,
        reasons: { value: 1 },
        sample: [{ time: NOW, reason: 'value', by: 'key:3' }],
      },
    ]);
    const { site: _, ...data } = events[0] as (typeof events)[0];
    expect(checkData('inbound.rejected.v1', data)).toBeUndefined();
    await rejections.flush();
    expect(await stored()).toHaveLength(2);
  });

  it('keeps a sample of five, whatever the number of senders', async () => {
    const { rejections, count, stored } = setUp();
    for (let key = 0; key < 100; key += 1) count('a.example', String(key), 'email');
    await rejections.flush();
    expect((await stored())[0]?.sample).toHaveLength(5);
  });

  it.each(['refused', 'answer lost'] as const)('counts each rejection once if an append is %s', async (failure) => {
    const { log, rejections, count, stored } = setUp();
    log.failures = [failure, failure];
    count('a.example', '1', 'email');
    await expect(rejections.flush()).rejects.toThrow(LogUnavailable);
    count('a.example', '1', 'event_missing');
    await rejections.flush().catch(() => {});
    await rejections.flush();
    await rejections.flush();
    const events = await stored();
    expect(events.map(({ reasons }) => reasons)).toEqual([{ email: 1 }, { event_missing: 1 }]);
  });
});

describe('fieldRejection', () => {
  it.each([
    ['email', 'email is invalid', 'email'],
    ['hashed_email', 'hashed_email must be a SHA-256 hex digest', 'hashed_email'],
    ['hashed_email', 'email or hashed_email required', 'email_missing'],
    ['event', 'event required', 'event_missing'],
    ['items', 'items[0].price must be a non-negative number', 'items'],
  ])('maps an error of %s, "%s", to the reason %s', (field, error, reason) => {
    expect(fieldRejection(field, error)).toBe(reason);
  });
});
