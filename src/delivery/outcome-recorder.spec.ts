import { jest } from '@jest/globals';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import type { Outcome } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { uuidv7 } from '../kernel/uuid.js';
import { AttemptPermit } from './attempt-window.js';
import { OutcomeRecorder } from './outcome-recorder.js';

const NEVER = Number.POSITIVE_INFINITY;

describe('OutcomeRecorder', () => {
  let log: InMemoryLog;
  let id: string;

  beforeEach(async () => {
    log = new InMemoryLog();
    id = uuidv7();
    await append({ type: 'conversion.received.v1', data: { conversionId: id, platforms: ['meta', 'segment'] } });
  });

  function append(event: { type: string; data: object }) {
    const target = { category: 'conversion', stream: id, site: 'shop.example', actor: 'system' };
    return log.append({ ...target, expected: 'any', events: [event] });
  }
  async function recorder(permit = new AttemptPermit(NEVER, NEVER, NEVER)): Promise<OutcomeRecorder> {
    const { version, position } = (await log.readStream('conversion', id)).at(-1) as {
      version: number;
      position: number;
    };
    return new OutcomeRecorder(log, { id, site: 'shop.example' }, { version, position }, permit);
  }
  const outcome = (attempt: number, more: Partial<Outcome> = {}): Outcome => {
    return { conversionId: id, platform: 'meta', attempt, status: 'delivered', ...more };
  };
  async function outcomes(): Promise<string[]> {
    const events = (await log.readStream('conversion', id)) as { type: string; data: Partial<Outcome> }[];
    return events.slice(1).map(({ type, data }) => `${data.platform} ${data.attempt} ${type.split('.')[1]}`);
  }

  it('records nothing after an outcome of another process, so that a late one reopens nothing', async () => {
    await append({ type: 'conversion.deferred.v1', data: outcome(1, { status: 'deferred' }) });
    const late = await recorder();
    await append({ type: 'conversion.delivered.v1', data: outcome(2) });
    await late.record([outcome(2, { status: 'deferred', nextTry: '2026-01-01T00:00:00.000Z' })]);
    expect(await outcomes()).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });

  it('records an outcome once if the answer to its append was lost', async () => {
    const first = await recorder();
    await first.record([outcome(1)]);
    const sameAttempt = new OutcomeRecorder(
      log,
      { id, site: 'shop.example' },
      { version: 1, position: 1 },
      new AttemptPermit(NEVER, NEVER, NEVER),
    );
    await sameAttempt.record([outcome(1)]);
    expect(await outcomes()).toEqual(['meta 1 delivered']);
  });

  it('ends if a failover has lost the conversion', async () => {
    const append = jest.fn(async () => ({ status: 'conflict' }) as const);
    const without = { append, readStream: async () => [] };
    const permit = new AttemptPermit(NEVER, performance.now() + 1_000, NEVER);
    const lost = new OutcomeRecorder(without, { id, site: 'shop.example' }, { version: 1, position: 1 }, permit);
    await lost.record([outcome(1)]);
    expect(append).toHaveBeenCalledTimes(1);
  });

  it('records an outcome after events of other platforms', async () => {
    const first = await recorder();
    await append({ type: 'conversion.delivered.v1', data: outcome(1, { platform: 'segment' }) });
    await first.record([outcome(1)]);
    expect(await outcomes()).toEqual(['segment 1 delivered', 'meta 1 delivered']);
  });

  it('numbers an outcome after a request for another delivery, which it then fulfils', async () => {
    const first = await recorder();
    await append({
      type: 'conversion.send_requested.v1',
      data: { conversionId: id, platform: 'meta', attempt: 0, settings: 1 },
    });
    await first.record([outcome(1)]);
    expect(await outcomes()).toEqual(['meta 0 send_requested', 'meta 2 delivered']);
  });

  it('drops an outcome after a request for a delivery under another event id', async () => {
    const first = await recorder();
    const request = { conversionId: id, platform: 'meta', attempt: 0, settings: 1, eventId: 'ORD-1-r2' };
    await append({ type: 'conversion.send_requested.v1', data: request });
    await first.record([outcome(1)]);
    expect(await outcomes()).toEqual(['meta 0 send_requested']);
  });

  it('records nothing after its time, by either clock', async () => {
    const byOwn = await recorder(new AttemptPermit(0, performance.now() - 1, NEVER));
    await expect(byOwn.record([outcome(1)])).rejects.toBeInstanceOf(LogUnavailable);
    const byDatabase = await recorder(new AttemptPermit(0, NEVER, Date.now() - 1));
    await expect(byDatabase.record([outcome(1)])).rejects.toBeInstanceOf(LogUnavailable);
    expect(await outcomes()).toEqual([]);
  });
});
