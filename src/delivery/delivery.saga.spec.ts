import { setImmediate as turn } from 'node:timers/promises';
import type { Outcome, OutcomeStatus } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { AppendOutcome, AppendRequest } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { AttemptPermit } from './attempt-window.js';
import { DeliverySaga, type SagaEnd } from './delivery.saga.js';
import { OutcomeWriter } from './outcome-writer.js';
import type { ReceivedConversion } from './received-conversion.js';

const PLATFORMS: PlatformName[] = ['meta', 'segment', 'reddit'];
const RECEIVED = {
  site: 'shop.example',
  position: 1,
  time: '2026-03-01T10:00:00.000Z',
  data: { conversionId: 'c1', event: 'purchase', currency: 'EUR', keyId: 'k1', trial: false, platforms: PLATFORMS },
  personal: { subject: 's' },
} as const satisfies ReceivedConversion;

const PERMIT = new AttemptPermit(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);

/** One stream that refuses an existing version, as the log does. */
class OneStream {
  readonly events: { type: string; version: number; position: number; data: object }[] = [
    { type: 'conversion.received.v1', version: 1, position: 1, data: RECEIVED.data },
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
    return { status: 'appended', position: this.events.length, time: RECEIVED.time };
  }

  appendAll(requests: readonly AppendRequest[]): Promise<(AppendOutcome | Error)[]> {
    return Promise.all(requests.map((request) => this.append(request).catch((error: Error) => error)));
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
  let ends: SagaEnd[];
  let saga: DeliverySaga;
  let response: object | undefined;

  beforeEach(() => {
    log = new OneStream();
    ends = [];
    response = undefined;
    start(PERMIT);
  });

  function start(permit: AttemptPermit): void {
    saga = new DeliverySaga(RECEIVED, new OutcomeWriter(log), permit, (end) => ends.push(end), 2_000);
    void saga.results().then((results) => {
      response = results;
    });
  }

  it('records outcomes that arrive together in one append and responds in the order of the receipt', async () => {
    for (const platform of ['reddit', 'meta', 'segment'] as const) saga.settle(outcome(platform));
    expect(response).toBeUndefined();
    await settle();
    expect(log.appends).toBe(1);
    expect(log.outcomes()).toEqual(['reddit delivered', 'meta delivered', 'segment delivered']);
    expect(Object.keys(response ?? {})).toEqual(PLATFORMS);
    expect(ends).toEqual(['settled']);
  });

  it('records the outcomes of some platforms without waiting for the others', async () => {
    saga.settle(outcome('meta'));
    await settle();
    expect(log.outcomes()).toEqual([]);
    saga.tick(performance.now());
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered']);
    expect([response, ends]).toEqual([undefined, []]);
    saga.settle(outcome('segment'));
    saga.settle(outcome('reddit', 'failed'));
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(ends).toEqual(['settled']);
  });

  it('responds when the timeout has passed and continues', async () => {
    saga.settle(outcome('meta'));
    saga.tick(performance.now() + 1_900);
    await settle();
    expect(response).toBeUndefined();
    saga.tick(performance.now() + 2_000);
    await settle();
    const late = { ok: false, status: 'queued', reason: 'timeout' };
    expect(response).toEqual({ meta: { ok: true, status: 'delivered' }, segment: late, reddit: late });
    saga.settle(outcome('segment'));
    saga.settle(outcome('reddit'));
    await settle();
    expect([log.outcomes().length, ends]).toEqual([3, ['settled']]);
  });

  it('responds while the log is unavailable and records the outcomes once it is back', async () => {
    log.failure = new LogUnavailable('unavailable');
    for (const platform of PLATFORMS) saga.settle(outcome(platform));
    await settle();
    expect(response).toMatchObject({ meta: { status: 'delivered' } });
    saga.tick(performance.now());
    await settle();
    expect([log.outcomes(), ends]).toEqual([[], []]);
    log.failure = undefined;
    saga.tick(performance.now());
    await settle();
    expect([log.outcomes().length, ends]).toEqual([3, ['settled']]);
  });

  it('appends after events of other writers, such as a retry of a delivery it deferred', async () => {
    saga.settle(outcome('meta', 'deferred'));
    saga.tick(performance.now());
    await settle();
    log.write(recorded('meta', 'delivered'));
    saga.settle(outcome('segment'));
    saga.settle(outcome('reddit'));
    await settle();
    expect(log.outcomes()).toEqual(['meta deferred', 'meta delivered', 'segment delivered', 'reddit delivered']);
    expect(ends).toEqual(['settled']);
  });

  it('keeps outcomes that other writers recorded for its platforms, also for platforms that settle later', async () => {
    log.write(recorded('meta', 'delivered'), recorded('segment', 'delivered'), recorded('reddit', 'failed'));
    saga.settle(outcome('meta', 'deferred'));
    saga.tick(performance.now());
    await settle();
    saga.settle(outcome('segment', 'deferred'));
    saga.settle(outcome('reddit', 'delivered'));
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(ends).toEqual(['settled']);
  });

  it('records the known outcomes and leaves withdrawn deliveries owed', async () => {
    saga.withdraw('segment');
    saga.settle(outcome('meta'));
    expect(ends).toEqual([]);
    saga.withdraw('reddit');
    await settle();
    expect(log.outcomes()).toEqual(['meta delivered']);
    expect(ends).toEqual(['owed']);
    expect(response).toMatchObject({ meta: { status: 'delivered' }, segment: { status: 'queued' } });
  });

  it('leaves everything owed that it could not record in time, and records nothing later', async () => {
    start(new AttemptPermit(0, performance.now() + 50, 0));
    log.failure = new LogUnavailable('unavailable');
    for (const platform of PLATFORMS) saga.settle(outcome(platform));
    await new Promise((next) => setTimeout(next, 60));
    saga.tick(performance.now());
    log.failure = undefined;
    saga.tick(performance.now());
    await settle();
    expect([log.outcomes(), ends]).toEqual([[], ['owed']]);
  });

  it('records an outcome without the platform’s texts if the log refuses them', async () => {
    log.append = async (request) => {
      if (JSON.stringify(request.events).includes('unstorable')) throw new Error('The log refused the event');
      return OneStream.prototype.append.call(log, request);
    };
    saga.settle({ ...outcome('meta', 'failed'), reason: 'unstorable text', response: 'unstorable' });
    saga.settle(outcome('segment'));
    saga.settle(outcome('reddit'));
    await settle();
    expect(log.events[1]?.data).toEqual({ ...outcome('meta', 'failed'), reason: 'unreadable_answer' });
    expect(ends).toEqual(['settled']);
  });

  it('ends as refused if the log refuses an outcome', async () => {
    log.failure = new Error('The log refused the event: invalid input');
    for (const platform of PLATFORMS) saga.settle(outcome(platform));
    await settle();
    expect(ends).toEqual(['refused']);
    expect(response).toBeDefined();
  });
});
