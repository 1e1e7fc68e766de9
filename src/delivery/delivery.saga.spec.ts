import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { InMemoryLog } from '../../test/support/in-memory-log.js';
import { eventually } from '../../test/support/waiting.js';
import type { Outcome, OutcomeStatus } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { AppendOutcome, AppendRequest } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { AttemptPermit } from './attempt-window.js';
import { DeliverySaga, OutcomeRecorder, type SagaEnd } from './delivery.saga.js';

const PLATFORMS: PlatformName[] = ['meta', 'segment', 'reddit'];
const TIME = '2026-03-01T10:00:00.000Z';

const NEVER = Number.POSITIVE_INFINITY;
const PERMIT = new AttemptPermit(NEVER, NEVER, NEVER);

/** One stream that refuses an existing version, as the log does. */
class OneStream {
  readonly events: { type: string; version: number; position: number; data: object }[] = [
    { type: 'conversion.received.v1', version: 1, position: 1, data: { platforms: PLATFORMS } },
  ];
  failure: Error | undefined;
  appends = 0;

  async append({ expected, events }: AppendRequest): Promise<AppendOutcome> {
    this.appends += 1;
    await turn();
    if (this.failure) throw this.failure;
    const { owned } = expected as { owned: number };
    if (owned !== this.events.length) return { status: 'conflict' };
    this.write(...events);
    return { status: 'appended', position: this.events.length, time: TIME };
  }

  write(...events: readonly { type: string; data: object }[]): void {
    for (const event of events) {
      const version = this.events.length + 1;
      this.events.push({ ...event, version, position: version });
    }
  }

  readStream: EventLog['readStream'] = async () => this.events as never;

  outcomes(): string[] {
    return this.events.slice(1).map(({ type, data }) => `${(data as Outcome).platform} ${type.split('.')[1]}`);
  }
}

const outcome = (platform: PlatformName, status: OutcomeStatus = 'delivered'): Outcome => ({
  conversionId: 'c1',
  platform,
  status,
  attempt: 1,
});
const OUTCOMES = PLATFORMS.map((platform) => outcome(platform));
const recorded = (platform: PlatformName, status: OutcomeStatus) => ({
  type: `conversion.${status}.v1`,
  data: outcome(platform, status),
});
async function settle(): Promise<void> {
  for (let round = 0; round < 10; round += 1) await turn();
}

describe('DeliverySaga', () => {
  let log: OneStream;
  let ends: (SagaEnd | Error)[];
  let saga: DeliverySaga;
  let hasResponded: boolean;
  let attempts: Map<PlatformName, (outcome: Outcome | undefined | Promise<never>) => void>;

  beforeEach(() => {
    log = new OneStream();
    start(PERMIT);
  });

  function start(permit: AttemptPermit): void {
    ends = [];
    hasResponded = false;
    attempts = new Map();
    const recorder = new OutcomeRecorder(log, { id: 'c1', site: 'shop.example' }, { version: 1, position: 1 }, permit);
    saga = new DeliverySaga(recorder, performance.now() + 2_000);
    const run = saga.run(
      PLATFORMS.map((platform) => new Promise<Outcome | undefined>((end) => attempts.set(platform, end))),
    );
    run.then(
      (end) => ends.push(end),
      (error: Error) => ends.push(error),
    );
    void saga.response.then(() => {
      hasResponded = true;
    });
  }

  async function attempted(...outcomes: readonly Outcome[]): Promise<void> {
    for (const one of outcomes) attempts.get(one.platform as PlatformName)?.(one);
    await settle();
  }
  const ended = () =>
    eventually(
      async () => ends,
      ({ length }) => length > 0,
    );
  const withdrawn = (platform: PlatformName) => attempts.get(platform)?.(undefined);
  async function tick(afterMs = 0): Promise<void> {
    saga.tick(performance.now() + afterMs);
    await settle();
  }

  it('records outcomes that arrive together in one append and responds then', async () => {
    const settled = attempted(outcome('reddit'), outcome('meta'), outcome('segment'));
    expect(hasResponded).toBe(false);
    await settled;
    expect(log.appends).toBe(1);
    expect(log.outcomes()).toEqual(['reddit delivered', 'meta delivered', 'segment delivered']);
    expect([...saga.outcomes.keys()].sort()).toEqual([...PLATFORMS].sort());
    expect([hasResponded, ends]).toEqual([true, ['recorded']]);
  });

  it('records the outcomes of some platforms without waiting for the others', async () => {
    await attempted(outcome('meta'));
    expect(log.outcomes()).toEqual([]);
    await tick();
    expect(log.outcomes()).toEqual(['meta delivered']);
    expect([hasResponded, ends]).toEqual([false, []]);
    await attempted(outcome('segment'), outcome('reddit', 'failed'));
    expect(log.outcomes()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(ends).toEqual(['recorded']);
  });

  it('responds when the timeout has passed and continues', async () => {
    await attempted(outcome('meta'));
    await tick(1_900);
    expect(hasResponded).toBe(false);
    await tick(2_000);
    expect([hasResponded, [...saga.outcomes.keys()]]).toEqual([true, ['meta']]);
    await attempted(outcome('segment'), outcome('reddit'));
    expect([log.outcomes().length, ends]).toEqual([3, ['recorded']]);
  });

  it('responds while the log is unavailable and records the outcomes once it is back', async () => {
    log.failure = new LogUnavailable('unavailable');
    await attempted(...OUTCOMES);
    expect([hasResponded, saga.outcomes.size, log.outcomes(), ends]).toEqual([true, 3, [], []]);
    log.failure = undefined;
    await ended();
    expect([log.outcomes().length, ends]).toEqual([3, ['recorded']]);
  });

  it('appends after events of other writers, such as a retry of a delivery it deferred', async () => {
    await attempted(outcome('meta', 'deferred'));
    await tick();
    log.write(recorded('meta', 'delivered'));
    await attempted(outcome('segment'), outcome('reddit'));
    expect(log.outcomes()).toEqual(['meta deferred', 'meta delivered', 'segment delivered', 'reddit delivered']);
    expect(ends).toEqual(['recorded']);
  });

  it('keeps outcomes that other writers recorded for its platforms, also for platforms that settle later', async () => {
    log.write(recorded('meta', 'delivered'), recorded('segment', 'delivered'), recorded('reddit', 'failed'));
    await attempted(outcome('meta', 'deferred'));
    await tick();
    await attempted(outcome('segment', 'deferred'), outcome('reddit', 'delivered'));
    expect(log.outcomes()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(ends).toEqual(['recorded']);
  });

  it('records the known outcomes and leaves withdrawn deliveries owed', async () => {
    withdrawn('segment');
    await attempted(outcome('meta'));
    expect(ends).toEqual([]);
    withdrawn('reddit');
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered']);
    expect(ends).toEqual(['withdrawn']);
    expect([hasResponded, [...saga.outcomes.keys()]]).toEqual([true, ['meta']]);
  });

  it('leaves everything owed that it could not record in time, and records nothing later', async () => {
    start(new AttemptPermit(0, performance.now() + 50, 0));
    log.failure = new LogUnavailable('unavailable');
    await attempted(...OUTCOMES);
    await new Promise((next) => setTimeout(next, 60));
    log.failure = undefined;
    await ended();
    expect([log.outcomes(), ends]).toEqual([[], ['owed']]);
  });

  it('ends as owed when its time has passed, without waiting for platforms', async () => {
    start(new AttemptPermit(0, performance.now() + 50, 0));
    await new Promise((next) => setTimeout(next, 60));
    await tick();
    await attempted(outcome('meta'));
    expect([log.outcomes(), ends]).toEqual([[], ['owed']]);
  });

  it('records an outcome without the platform’s texts if the log refuses them', async () => {
    log.append = async (request) => {
      if (JSON.stringify(request.events).includes('unstorable')) throw new Error('The log refused the event');
      return OneStream.prototype.append.call(log, request);
    };
    await attempted(
      { ...outcome('meta', 'failed'), reason: 'unstorable text', response: 'unstorable' },
      outcome('segment'),
      outcome('reddit'),
    );
    expect(log.events[1]?.data).toEqual({ ...outcome('meta', 'failed'), reason: 'unreadable_answer' });
    expect(ends).toEqual(['recorded']);
  });

  it('rejects if the log refuses an outcome', async () => {
    log.failure = new Error('The log refused the event: invalid input');
    await attempted(...OUTCOMES);
    expect(ends).toEqual([log.failure]);
    expect(hasResponded).toBe(true);
  });

  it('records the other outcomes and rejects if an attempt fails by a bug', async () => {
    const bug = new TypeError('bug');
    attempts.get('meta')?.(Promise.reject(bug));
    await attempted(outcome('segment'), outcome('reddit'));
    expect(log.outcomes()).toEqual(['segment delivered', 'reddit delivered']);
    expect(ends).toEqual([bug]);
  });
});

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
  async function recorder(permit = PERMIT): Promise<OutcomeRecorder> {
    const { version, position } = (await log.readStream('conversion', id)).at(-1) as {
      version: number;
      position: number;
    };
    return new OutcomeRecorder(log, { id, site: 'shop.example' }, { version, position }, permit);
  }
  const numbered = (attempt: number, more: Partial<Outcome> = {}): Outcome => ({
    ...outcome('meta'),
    conversionId: id,
    attempt,
    ...more,
  });
  async function outcomes(): Promise<string[]> {
    const events = (await log.readStream('conversion', id)) as { type: string; data: Partial<Outcome> }[];
    return events.slice(1).map(({ type, data }) => `${data.platform} ${data.attempt} ${type.split('.')[1]}`);
  }

  it('records nothing after an outcome of another process, so that a late one reopens nothing', async () => {
    await append({ type: 'conversion.deferred.v1', data: numbered(1, { status: 'deferred' }) });
    const late = await recorder();
    await append({ type: 'conversion.delivered.v1', data: numbered(2) });
    await late.record([numbered(2, { status: 'deferred', nextTry: '2026-01-01T00:00:00.000Z' })]);
    expect(await outcomes()).toEqual(['meta 1 deferred', 'meta 2 delivered']);
  });

  it('records an outcome once if the answer to its append was lost', async () => {
    const first = await recorder();
    await first.record([numbered(1)]);
    const sameAttempt = new OutcomeRecorder(log, { id, site: 'shop.example' }, { version: 1, position: 1 }, PERMIT);
    await sameAttempt.record([numbered(1)]);
    expect(await outcomes()).toEqual(['meta 1 delivered']);
  });

  it('ends if a failover has lost the conversion', async () => {
    const append = jest.fn(async () => ({ status: 'conflict' }) as const);
    const without = { append, readStream: async () => [] };
    const permit = new AttemptPermit(NEVER, performance.now() + 1_000, NEVER);
    const lost = new OutcomeRecorder(without, { id, site: 'shop.example' }, { version: 1, position: 1 }, permit);
    await lost.record([numbered(1)]);
    expect(append).toHaveBeenCalledTimes(1);
  });

  it('records an outcome after events of other platforms', async () => {
    const first = await recorder();
    await append({ type: 'conversion.delivered.v1', data: numbered(1, { platform: 'segment' }) });
    await first.record([numbered(1)]);
    expect(await outcomes()).toEqual(['segment 1 delivered', 'meta 1 delivered']);
  });

  it('numbers an outcome after a request for another delivery, which it then fulfils', async () => {
    const first = await recorder();
    await append({
      type: 'conversion.send_requested.v1',
      data: { conversionId: id, platform: 'meta', attempt: 0, settings: 1 },
    });
    await first.record([numbered(1)]);
    expect(await outcomes()).toEqual(['meta 0 send_requested', 'meta 2 delivered']);
  });

  it('drops an outcome after a request for a delivery under another event id', async () => {
    const first = await recorder();
    const request = { conversionId: id, platform: 'meta', attempt: 0, settings: 1, eventId: 'ORD-1-r2' };
    await append({ type: 'conversion.send_requested.v1', data: request });
    await first.record([numbered(1)]);
    expect(await outcomes()).toEqual(['meta 0 send_requested']);
  });

  it('records nothing after its time, by either clock', async () => {
    const byOwn = await recorder(new AttemptPermit(0, performance.now() - 1, NEVER));
    await expect(byOwn.record([numbered(1)])).rejects.toBeInstanceOf(LogUnavailable);
    const byDatabase = await recorder(new AttemptPermit(0, NEVER, Date.now() - 1));
    await expect(byDatabase.record([numbered(1)])).rejects.toBeInstanceOf(LogUnavailable);
    expect(await outcomes()).toEqual([]);
  });
});
