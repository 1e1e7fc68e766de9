import { setImmediate as turn } from 'node:timers/promises';
import { type Outcome, type OutcomeStatus } from '../events/delivery.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import type { AppendOutcome, AppendRequest } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { PlatformName } from '../platforms/platform.js';
import { type Closing, OpenConversion } from './open-conversion.js';
import type { ReceivedConversion } from './received.js';

const PLATFORMS: PlatformName[] = ['meta', 'segment', 'reddit'];
const RECEIVED = {
  site: 'shop.example',
  position: 1,
  time: '2026-03-01T10:00:00.000Z',
  data: { conversionId: 'c1', event: 'purchase', currency: 'EUR', keyId: 'k1', trial: false, platforms: PLATFORMS },
  personal: { subject: 's' },
} as const satisfies ReceivedConversion;

/** One stream, which refuses a version that it has, as the log's unique index does. */
class OneStream {
  readonly events: { type: string; version: number; data: object }[] = [
    { type: 'conversion.received.v1', version: 1, data: RECEIVED.data },
  ];
  trouble: Error | undefined;
  appends = 0;

  async append({ expected, events }: AppendRequest): Promise<AppendOutcome> {
    this.appends += 1;
    await turn();
    if (this.trouble) throw this.trouble;
    const { owned } = expected as { owned: number };
    if (owned !== this.events.length) throw new Error('The log refused the event: duplicate key');
    this.write(...events);
    return { status: 'appended', position: 9, time: RECEIVED.time };
  }

  write(...events: readonly { type: string; data: object }[]): void {
    for (const event of events) this.events.push({ ...event, version: this.events.length + 1 });
  }

  readStream: EventLog['readStream'] = async () => this.events as never;

  told(): string[] {
    return this.events.slice(1).map(({ type, data }) => `${(data as Outcome).platform} ${type.split('.')[1]}`);
  }
}

const outcome = (platform: PlatformName, status: OutcomeStatus = 'delivered'): Outcome => ({
  conversionId: 'c1',
  platform,
  status,
  attempt: 1,
});
const written = (platform: PlatformName, status: OutcomeStatus) => ({
  type: `conversion.${status}.v1`,
  data: outcome(platform, status),
});
async function settle(): Promise<void> {
  for (let round = 0; round < 10; round += 1) await turn();
}

describe('OpenConversion', () => {
  let log: OneStream;
  let endings: Closing[];
  let conversion: OpenConversion;
  let answer: object | undefined;

  beforeEach(() => {
    log = new OneStream();
    endings = [];
    answer = undefined;
    conversion = new OpenConversion(RECEIVED, new Set(PLATFORMS), 1, log, (how) => endings.push(how), 2_000);
    void conversion.settled().then((results) => {
      answer = results;
    });
  });

  it('writes what comes together together, then answers in the order of the receipt', async () => {
    for (const platform of ['reddit', 'meta', 'segment'] as const) conversion.settle(outcome(platform));
    expect(answer).toBeUndefined();
    await settle();
    expect(log.appends).toBe(1);
    expect(log.told()).toEqual(['reddit delivered', 'meta delivered', 'segment delivered']);
    expect(Object.keys(answer ?? {})).toEqual(PLATFORMS);
    expect(endings).toEqual(['settled']);
  });

  it('does not keep what some said waiting for the others', async () => {
    conversion.settle(outcome('meta'));
    await settle();
    expect(log.told()).toEqual([]);
    conversion.tick(performance.now());
    await settle();
    expect(log.told()).toEqual(['meta delivered']);
    expect([answer, endings]).toEqual([undefined, []]);
    conversion.settle(outcome('segment'));
    conversion.settle(outcome('reddit', 'failed'));
    await settle();
    expect(log.told()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(endings).toEqual(['settled']);
  });

  it('answers when patience is over, and goes on', async () => {
    conversion.settle(outcome('meta'));
    conversion.tick(performance.now() + 1_900);
    await settle();
    expect(answer).toBeUndefined();
    conversion.tick(performance.now() + 2_000);
    await settle();
    const late = { ok: false, status: 'queued', reason: 'timeout' };
    expect(answer).toEqual({ meta: { ok: true, status: 'delivered' }, segment: late, reddit: late });
    conversion.settle(outcome('segment'));
    conversion.settle(outcome('reddit'));
    await settle();
    expect([log.told().length, endings]).toEqual([3, ['settled']]);
  });

  it('answers without the log when that is away, and writes once it is back', async () => {
    log.trouble = new LogUnavailable('away');
    for (const platform of PLATFORMS) conversion.settle(outcome(platform));
    await settle();
    expect(answer).toMatchObject({ meta: { status: 'delivered' } });
    conversion.tick(performance.now());
    await settle();
    expect([log.told(), endings]).toEqual([[], []]);
    log.trouble = undefined;
    conversion.tick(performance.now());
    await settle();
    expect([log.told().length, endings]).toEqual([3, ['settled']]);
  });

  it('writes behind what others wrote, such as a retry of what was deferred here', async () => {
    conversion.settle(outcome('meta', 'deferred'));
    conversion.tick(performance.now());
    await settle();
    log.write(written('meta', 'delivered'));
    conversion.settle(outcome('segment'));
    conversion.settle(outcome('reddit'));
    await settle();
    expect(log.told()).toEqual(['meta deferred', 'meta delivered', 'segment delivered', 'reddit delivered']);
    expect(endings).toEqual(['settled']);
  });

  it('lets stand what others wrote about its platforms, also when it hears of them later', async () => {
    log.write(written('meta', 'delivered'), written('segment', 'delivered'), written('reddit', 'failed'));
    conversion.settle(outcome('meta', 'deferred'));
    conversion.tick(performance.now());
    await settle();
    conversion.settle(outcome('segment', 'deferred'));
    conversion.settle(outcome('reddit', 'delivered'));
    await settle();
    expect(log.told()).toEqual(['meta delivered', 'segment delivered', 'reddit failed']);
    expect(endings).toEqual(['settled']);
  });

  it('writes what is known of one that may not be sent everywhere, and says so', async () => {
    conversion.forbid('segment');
    conversion.settle(outcome('meta'));
    expect(endings).toEqual([]);
    conversion.forbid('reddit');
    await settle();
    expect(log.told()).toEqual(['meta delivered']);
    expect(endings).toEqual(['forbidden']);
    expect(answer).toMatchObject({ meta: { status: 'delivered' }, segment: { status: 'queued' } });
  });

  it('ends when the log will not have it', async () => {
    log.trouble = new Error('The log refused the event: invalid input');
    for (const platform of PLATFORMS) conversion.settle(outcome(platform));
    await settle();
    expect(endings).toEqual(['refused']);
    expect(answer).toBeDefined();
  });
});
