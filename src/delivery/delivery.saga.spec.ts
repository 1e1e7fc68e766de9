import { setImmediate as turn } from 'node:timers/promises';
import { eventually } from '../../test/support/waiting.js';
import type { Outcome, OutcomeStatus } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { AppendOutcome, AppendRequest } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { AttemptPermit } from './attempt-window.js';
import { DeliverySaga, type SagaEnd } from './delivery.saga.js';
import { OutcomeRecorder } from './outcome-recorder.js';

const PLATFORMS: PlatformName[] = ['meta', 'segment', 'reddit'];
const TIME = '2026-03-01T10:00:00.000Z';

const PERMIT = new AttemptPermit(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);

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

  const attempted = (one: Outcome) => attempts.get(one.platform as PlatformName)?.(one);
  const withdrawn = (platform: PlatformName) => attempts.get(platform)?.(undefined);

  it('records outcomes that arrive together in one append and responds then', async () => {
    for (const platform of ['reddit', 'meta', 'segment'] as const) attempted(outcome(platform));
    expect(hasResponded).toBe(false);
    await settle();
    expect(log.appends).toBe(1);
    expect(log.outcomes()).toEqual(['reddit delivered', 'meta delivered', 'segment delivered']);
    expect([...saga.outcomes.keys()].sort()).toEqual([...PLATFORMS].sort());
    expect([hasResponded, ends]).toEqual([true, ['recorded']]);
  });

  it('records the outcomes of some platforms without waiting for the others', async () => {
    attempted(outcome('meta'));
    await settle();
    expect(log.outcomes()).toEqual([]);
    saga.tick(performance.now());
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered']);
    expect([hasResponded, ends]).toEqual([false, []]);
    attempted(outcome('segment'));
    attempted(outcome('reddit', 'failed'));
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(ends).toEqual(['recorded']);
  });

  it('responds when the timeout has passed and continues', async () => {
    attempted(outcome('meta'));
    await settle();
    saga.tick(performance.now() + 1_900);
    await settle();
    expect(hasResponded).toBe(false);
    saga.tick(performance.now() + 2_000);
    await settle();
    expect([hasResponded, [...saga.outcomes.keys()]]).toEqual([true, ['meta']]);
    attempted(outcome('segment'));
    attempted(outcome('reddit'));
    await settle();
    expect([log.outcomes().length, ends]).toEqual([3, ['recorded']]);
  });

  it('responds while the log is unavailable and records the outcomes once it is back', async () => {
    log.failure = new LogUnavailable('unavailable');
    for (const platform of PLATFORMS) attempted(outcome(platform));
    await settle();
    expect([hasResponded, saga.outcomes.size, log.outcomes(), ends]).toEqual([true, 3, [], []]);
    log.failure = undefined;
    await eventually(
      async () => ends,
      ({ length }) => length > 0,
    );
    expect([log.outcomes().length, ends]).toEqual([3, ['recorded']]);
  });

  it('appends after events of other writers, such as a retry of a delivery it deferred', async () => {
    attempted(outcome('meta', 'deferred'));
    await settle();
    saga.tick(performance.now());
    await settle();
    log.write(recorded('meta', 'delivered'));
    attempted(outcome('segment'));
    attempted(outcome('reddit'));
    await settle();
    expect(log.outcomes()).toEqual(['meta deferred', 'meta delivered', 'segment delivered', 'reddit delivered']);
    expect(ends).toEqual(['recorded']);
  });

  it('keeps outcomes that other writers recorded for its platforms, also for platforms that settle later', async () => {
    log.write(recorded('meta', 'delivered'), recorded('segment', 'delivered'), recorded('reddit', 'failed'));
    attempted(outcome('meta', 'deferred'));
    await settle();
    saga.tick(performance.now());
    await settle();
    attempted(outcome('segment', 'deferred'));
    attempted(outcome('reddit', 'delivered'));
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(ends).toEqual(['recorded']);
  });

  it('records the known outcomes and leaves withdrawn deliveries owed', async () => {
    withdrawn('segment');
    attempted(outcome('meta'));
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
    for (const platform of PLATFORMS) attempted(outcome(platform));
    await new Promise((next) => setTimeout(next, 60));
    log.failure = undefined;
    await eventually(
      async () => ends,
      ({ length }) => length > 0,
    );
    expect([log.outcomes(), ends]).toEqual([[], ['owed']]);
  });

  it('ends as owed when its time has passed, without waiting for platforms', async () => {
    start(new AttemptPermit(0, performance.now() + 50, 0));
    await new Promise((next) => setTimeout(next, 60));
    saga.tick(performance.now());
    await settle();
    attempted(outcome('meta'));
    await settle();
    expect([log.outcomes(), ends]).toEqual([[], ['owed']]);
  });

  it('records an outcome without the platform’s texts if the log refuses them', async () => {
    log.append = async (request) => {
      if (JSON.stringify(request.events).includes('unstorable')) throw new Error('The log refused the event');
      return OneStream.prototype.append.call(log, request);
    };
    attempted({ ...outcome('meta', 'failed'), reason: 'unstorable text', response: 'unstorable' });
    attempted(outcome('segment'));
    attempted(outcome('reddit'));
    await settle();
    expect(log.events[1]?.data).toEqual({ ...outcome('meta', 'failed'), reason: 'unreadable_answer' });
    expect(ends).toEqual(['recorded']);
  });

  it('rejects if the log refuses an outcome', async () => {
    log.failure = new Error('The log refused the event: invalid input');
    for (const platform of PLATFORMS) attempted(outcome(platform));
    await settle();
    expect(ends).toEqual([log.failure]);
    expect(hasResponded).toBe(true);
  });

  it('records the other outcomes and rejects if an attempt fails by a bug', async () => {
    const bug = new TypeError('bug');
    attempts.get('meta')?.(Promise.reject(bug));
    attempted(outcome('segment'));
    attempted(outcome('reddit'));
    await settle();
    expect(log.outcomes()).toEqual(['segment delivered', 'reddit delivered']);
    expect(ends).toEqual([bug]);
  });
});
