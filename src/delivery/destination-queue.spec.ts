import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { Call, Connection, Platform, PlatformRequest, PlatformResponse, Verdict } from '../platforms/platform.js';
import { CredentialsRefused } from './connections/access-tokens.js';
import { accountOf } from './connections/account.js';
import { NoResponse } from './connections/platform-client.js';
import { type AttemptResult, DestinationQueue, type QueuedDelivery } from './destination-queue.js';

const CONNECTION: Connection = { settings: { pixel_id: 'current' }, secrets: {} };
const CURRENT = accountOf({ account: ['pixel_id'] }, CONNECTION.settings);
const EARLIER = accountOf({ account: ['pixel_id'] }, { pixel_id: 'earlier' });
const OPEN_MS = 10_000;
const DELIVERED: Verdict = { kind: 'delivered' };

type Answer = Verdict | readonly Verdict[] | Error;

/** A queue with a platform whose answers the test sets, and a connection in memory. */
class TestQueue {
  /** The payloads of each request. */
  readonly requests: string[][] = [];
  readonly results = new Map<string, AttemptResult>();
  readonly stateChanges: string[] = [];
  readonly errors: unknown[] = [];
  readonly tokens: (string | undefined)[] = [];
  readonly pixels: (string | undefined)[] = [];
  /** The people whose consent each lookup was for. */
  readonly checked: string[][] = [];
  optedOut: () => ReadonlySet<string> | Promise<ReadonlySet<string>> = () => new Set();
  /** Positions. */
  erased = new Set<number>();
  /** Instead of a fixed text. */
  response: { json: unknown } | undefined;
  state: 'active' | 'paused' | 'parked' | 'gone' = 'active';
  answer: (items: readonly string[], request: number) => Answer | Promise<Answer> = () => DELIVERED;
  token: (stale?: string) => string | undefined | Promise<string> = () => undefined;
  change: Promise<void> = Promise.resolve();
  private readonly queue: DestinationQueue;
  private readonly platform: Platform;

  constructor(platform: Partial<Platform> = {}) {
    let verdict: Answer = DELIVERED;
    this.platform = {
      name: 'meta',
      account: ['pixel_id'],
      batchMax: 100,
      request: (items: readonly string[], { accessToken, connection }: Call) => {
        this.requests.push([...items]);
        this.tokens.push(accessToken);
        this.pixels.push(connection.settings['pixel_id']);
        return { method: 'POST', url: 'https://platform.example', headers: {}, body: items.join() };
      },
      verdict: () => verdict,
      ...platform,
    } as unknown as Platform;
    const change = (name: string, state: TestQueue['state']) => async (reason?: string) => {
      this.stateChanges.push(reason === undefined ? name : `${name}: ${reason}`);
      await this.change;
      this.state = state;
    };
    this.queue = new DestinationQueue(
      this.platform,
      {
        nowMs: () => Date.now(),
        destination: () => (this.state === 'gone' ? undefined : { connection: CONNECTION, state: this.state }),
        request: async (_: Platform, __: PlatformRequest) => {
          const answer = await this.answer(this.requests.at(-1) as string[], this.requests.length);
          if (answer instanceof Error) throw answer;
          verdict = answer;
          const { json } = this.response ?? {};
          const text = this.response ? JSON.stringify(json) : 'body';
          return { status: 200, headers: {}, text, json } satisfies PlatformResponse;
        },
        accessToken: async (_, __, stale) => this.token(stale),
        changes: async (subjects) => {
          this.checked.push([...subjects]);
          return { optedOut: await this.optedOut(), erased: this.erased };
        },
        park: change('park', 'parked'),
        pause: change('pause', 'paused'),
        resume: change('resume', 'active'),
        onError: (error) => this.errors.push(error),
      },
      OPEN_MS,
    );
  }

  enqueue(body: string, { group, ...delivery }: Partial<QueuedDelivery> & { group?: string } = {}): void {
    this.queue.enqueue({
      payload: { body, group, account: CURRENT },
      bound: false,
      alone: false,
      probe: false,
      decided: { atMs: performance.now(), position: 1 },
      mayDeliver: () => true,
      done: (result) => {
        if (this.results.has(body)) throw new Error(`${body} was settled twice`);
        this.results.set(body, result);
      },
      ...delivery,
    });
  }

  async send(bodies: readonly string[], delivery: Partial<QueuedDelivery> = {}): Promise<void> {
    for (const body of bodies) this.enqueue(body, delivery);
    await this.settle();
  }

  get capacity(): number {
    return this.queue.capacity;
  }

  use(platform: Partial<Platform>): void {
    this.queue.use({ ...this.platform, ...platform } as Platform);
  }

  tick(): void {
    this.queue.tick();
  }

  /** Waits until no more progress is possible. */
  async settle(): Promise<void> {
    for (let round = 0; round < 60; round += 1) await turn();
  }

  statuses(): Record<string, string> {
    const text = ({ status, reason }: AttemptResult) => (reason === undefined ? status : `${status} ${reason}`);
    return Object.fromEntries([...this.results].map(([body, result]) => [body, text(result)]));
  }
}

type SetUp = Partial<Pick<TestQueue, 'answer' | 'token' | 'state' | 'optedOut' | 'change' | 'response'>>;

/** A queue that was given these deliveries, after all that follows from them. */
async function queueAfter(bodies: readonly string[], setUp: SetUp = {}, delivery: Partial<QueuedDelivery> = {}) {
  const queue = Object.assign(new TestQueue(), setUp);
  await queue.send(bodies, delivery);
  return queue;
}

/** An answer that is pending until it is released. */
function hanging() {
  let release: (answer: Answer) => void = () => {};
  const promise = new Promise<Answer>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

describe('DestinationQueue', () => {
  describe('batches', () => {
    it('batches the deliveries of one event-loop turn and does not wait for more', async () => {
      const queue = new TestQueue();
      for (const body of ['a', 'b', 'c']) queue.enqueue(body);
      expect(queue.requests).toEqual([]);
      await turn();
      await turn();
      expect(queue.requests).toEqual([['a', 'b', 'c']]);
      await queue.send(['d']);
      expect(queue.requests).toEqual([['a', 'b', 'c'], ['d']]);
      expect(queue.statuses()).toEqual({ a: 'delivered', b: 'delivered', c: 'delivered', d: 'delivered' });
    });

    it('separates groups, respects the batch size and sends alone what must be alone', async () => {
      const queue = new TestQueue({ batchMax: 2 });
      for (const body of ['a1', 'a2', 'a3']) queue.enqueue(body, { group: 'a' });
      queue.enqueue('b1', { group: 'b' });
      queue.enqueue('x', { group: 'a', alone: true });
      await queue.settle();
      expect(queue.requests).toEqual([['a1', 'a2'], ['a3'], ['b1'], ['x']]);
    });

    it('limits the size of a request, and sends a large payload on its own', async () => {
      const queue = new TestQueue();
      const [large, medium] = ['a'.repeat(500_000), 'b'.repeat(399_999)];
      await queue.send([large, medium, 'c', 'd']);
      expect(queue.requests).toEqual([[large], [medium, 'c'], ['d']]);
    });

    it('has at most eight requests in flight for a platform with batches', async () => {
      const queue = new TestQueue({ batchMax: 2 });
      queue.answer = () => hanging().promise;
      for (let index = 0; index < 100; index += 1) queue.enqueue(`request ${index}`);
      await queue.settle();
      expect(queue.requests).toHaveLength(8);
    });

    it('has at most 32 requests in flight for a platform without batches, and 2,000 deliveries pending', async () => {
      const queue = new TestQueue({ batchMax: 1 });
      const request = hanging();
      queue.answer = () => request.promise;
      for (let index = 0; index < 32; index += 1) queue.enqueue(`request ${index}`);
      await queue.settle();
      for (let index = 0; index < 2_000; index += 1) queue.enqueue(`pending ${index}`);
      await queue.settle();
      expect(queue.requests).toHaveLength(32);
      expect(queue.capacity).toBe(0);
      queue.enqueue('one too many');
      expect(queue.statuses()).toEqual({ 'one too many': 'deferred pending' });
      request.release(DELIVERED);
      for (let round = 0; queue.results.size < 2_033 && round < 10_000; round += 1) await turn();
      await queue.settle();
      expect(queue.requests).toHaveLength(2_032);
      expect(queue.results.size).toBe(2_033);
      expect(queue.capacity).toBe(2_000);
    });
  });

  describe('a rate limit', () => {
    const LIMITED = { batchMax: 2, rateLimit: { requests: 2, perMs: 1_000 } };
    beforeEach(() => jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] }));
    afterEach(() => jest.useRealTimers());

    const pass = async (queue: TestQueue, ms: number) => {
      jest.advanceTimersByTime(ms);
      await queue.settle();
    };

    it('sends no more requests in any second, and the others as soon as it is over', async () => {
      const queue = new TestQueue(LIMITED);
      await queue.send(['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']);
      expect(queue.requests).toEqual([
        ['a', 'b'],
        ['c', 'd'],
      ]);
      await pass(queue, 999);
      expect(queue.requests).toHaveLength(2);
      await pass(queue, 1);
      expect(queue.requests).toHaveLength(4);
      await pass(queue, 1_000);
      expect(queue.requests).toHaveLength(5);
      expect(queue.results.size).toBe(9);
    });

    it('keeps in memory what is sent within ten seconds, and defers the others', async () => {
      const queue = new TestQueue(LIMITED);
      expect(queue.capacity).toBe(44);
      await queue.send(Array.from({ length: 100 }, (_, index) => `${index}`));
      expect(queue.results.size).toBe(60);
      expect(queue.statuses()).toMatchObject({ 44: 'deferred pending', 99: 'deferred pending' });
      expect(queue.capacity).toBe(0);
      for (let second = 0; second < 11; second += 1) await pass(queue, 1_000);
      expect(queue.results.get('43')).toMatchObject({ status: 'delivered' });
      expect(queue.requests).toHaveLength(22);
    });

    it('counts the requests that find a rejected payload, whose wait is no hang of the platform', async () => {
      const queue = new TestQueue({ batchMax: 4, rateLimit: { requests: 1, perMs: 5_000 } });
      queue.answer = (items) => (items.includes('bad') ? { kind: 'split', reason: 'bad' } : DELIVERED);
      await queue.send(['bad', 'b', 'c', 'd']);
      queue.enqueue('later');
      expect(queue.requests).toHaveLength(1);
      for (let tick = 0; tick < 25; tick += 1) {
        await pass(queue, 1_000);
        queue.tick();
      }
      expect(queue.requests).toHaveLength(6);
      expect(queue.statuses()).toMatchObject({ bad: 'failed bad', b: 'delivered', d: 'delivered', later: 'delivered' });
    });

    it('changes with the definition, and counts what was sent before', async () => {
      const queue = new TestQueue(LIMITED);
      await queue.send(['a', 'b', 'c']);
      queue.use({ rateLimit: { requests: 3, perMs: 1_000 } });
      await queue.send(['d', 'e', 'f']);
      expect(queue.requests).toEqual([['a', 'b'], ['c'], ['d', 'e']]);
      queue.use({ rateLimit: undefined as never });
      await queue.send(['g']);
      expect(queue.requests.slice(3)).toEqual([['f', 'g']]);
    });
  });

  describe('consent', () => {
    const decidedBefore = (subject?: string, position = 1) => ({
      decided: { subject, position, atMs: Number.NEGATIVE_INFINITY },
    });
    const justDecided = (subject: string) => ({ decided: { subject, position: 1, atMs: performance.now() } });

    it('sends nothing of a person who has opted out since, and reports it', async () => {
      const queue = new TestQueue();
      queue.optedOut = () => new Set(['jane']);
      queue.enqueue('a', decidedBefore('jane'));
      queue.enqueue('b', decidedBefore('john'));
      await queue.send(['c']);
      expect(queue.requests).toEqual([['b', 'c']]);
      expect(queue.statuses()).toEqual({ a: 'opted_out', b: 'delivered', c: 'delivered' });
      expect(queue.checked).toEqual([['jane', 'john']]);
    });

    it('is looked up under everything that the sender stated, where the site knows people by it', async () => {
      const queue = new TestQueue();
      const stated = { phone: 'ab'.repeat(32) };
      const phone = `01${stated.phone}`;
      queue.optedOut = () => new Set([phone]);
      queue.enqueue('a', { decided: { ...decidedBefore('jane').decided, stated } });
      await queue.send(['b']);
      expect(queue.checked).toEqual([['jane', phone]]);
      expect(queue.statuses()).toEqual({ a: 'opted_out', b: 'delivered' });
    });

    it('matters no more once the person is erased, whose conversions are not sent', async () => {
      const queue = new TestQueue();
      queue.optedOut = () => new Set(['jane']);
      queue.erased = new Set([7, 8]);
      queue.enqueue('a', decidedBefore('jane', 7));
      queue.enqueue('b', decidedBefore(undefined, 8));
      await queue.send(['c'], decidedBefore(undefined, 9));
      expect(queue.requests).toEqual([['c']]);
      expect(queue.statuses()).toEqual({ a: 'erased', b: 'erased', c: 'delivered' });
    });

    it('is not looked up for a conversion that was just decided', async () => {
      const queue = new TestQueue();
      queue.optedOut = () => new Set(['jane']);
      queue.enqueue('a', justDecided('jane'));
      await queue.settle();
      expect([queue.checked, queue.statuses()]).toEqual([[], { a: 'delivered' }]);
    });

    it('is looked up after a delivery has waited for other requests, or for a token', async () => {
      const queue = new TestQueue({ batchMax: 1 });
      queue.optedOut = () => new Set(['jane']);
      const { promise, release } = hanging();
      queue.token = () => promise.then(() => 'token');
      queue.enqueue('a', { decided: { ...decidedBefore('jane').decided, atMs: performance.now() - 990 } });
      await new Promise((resolve) => setTimeout(resolve, 20));
      release(DELIVERED);
      await queue.settle();
      expect(queue.statuses()).toEqual({ a: 'opted_out' });
    });

    it('that cannot be read sends nothing: another attempt is made later', async () => {
      const queue = new TestQueue();
      queue.optedOut = () => Promise.reject(new Error('the database is down'));
      queue.enqueue('a', decidedBefore('jane'));
      await queue.send(['b']);
      expect(queue.statuses()).toEqual({ a: 'withdrawn', b: 'delivered' });
      expect(queue.errors).toEqual([]);
    });

    it('withdrawn between two requests of an attempt ends it, and the platform may have accepted it', async () => {
      const queue = new TestQueue();
      queue.answer = (items) => (items.length > 1 ? { kind: 'split', reason: 'bad', unknown: true } : DELIVERED);
      let lookups = 0;
      queue.optedOut = () => new Set(++lookups > 1 ? ['jane'] : []);
      queue.enqueue('a', decidedBefore('jane'));
      queue.enqueue('b', decidedBefore('john'));
      await queue.settle();
      expect(queue.results.get('a')).toMatchObject({ status: 'opted_out', unknown: true });
      expect(queue.results.get('b')).toMatchObject({ status: 'delivered' });
    });
  });

  describe('answers', () => {
    it('applies a verdict to each delivery and defers those without one', async () => {
      const queue = await queueAfter(['a', 'b', 'c', 'd'], {
        answer: () => [
          { kind: 'accepted', requestId: 'r1' },
          { kind: 'rejected', reason: 'too old' },
          { kind: 'retry', reason: 'throttled', afterMs: 5 },
        ],
      });
      expect(queue.statuses()).toEqual({
        a: 'accepted',
        b: 'failed too old',
        c: 'deferred throttled',
        d: 'deferred server_error',
      });
      expect(queue.results.get('a')).toMatchObject({ requestId: 'r1', httpStatus: 200, response: 'body' });
      expect(queue.results.get('c')).toMatchObject({ afterMs: 5 });
    });

    it('removes what the log would refuse, and personal data, from the platform’s texts', async () => {
      const queue = new TestQueue();
      const text = 'bad\0\ud800 jane@example.com';
      queue.answer = () => [
        { kind: 'rejected', reason: text, requestId: text },
        { kind: 'unauthorized', reason: text },
      ];
      await queue.send(['a', 'b']);
      expect(queue.results.get('a')).toMatchObject({ reason: 'bad …', requestId: undefined });
      expect(queue.stateChanges).toEqual(['park: bad …']);
    });

    it('decides by the answer as it is, and keeps it without what it repeats of the person', async () => {
      const verdict = ({ json }: PlatformResponse): Verdict => {
        const { status, message } = json as { status: string; message: string };
        return status === 'processed' ? { kind: 'delivered' } : { kind: 'rejected', reason: message };
      };
      const queue = new TestQueue({ verdict });
      const personal = {
        subject: 'ab'.repeat(32),
        visit: { clicks: {}, cookies: {}, utm: { campaign: 'processed', term: 'failed' } },
      };
      queue.response = { json: { status: 'processed', message: '' } };
      queue.enqueue('a', { personal });
      await queue.settle();
      queue.response = { json: { status: 'failed', message: 'bad campaign Processed' } };
      queue.enqueue('b', { personal });
      await queue.settle();
      expect(queue.statuses()).toEqual({ a: 'delivered', b: 'failed bad campaign …' });
      expect(queue.results.get('b')?.response).toBe('{"status":"…","message":"bad campaign …"}');
    });

    it.each([
      ['a UUID with nine digits in a row', '3f2a1b4c-123456789-4abc'],
      ['32 hexadecimal digits', '0123456789abcdef0123456789abcdef'],
      ['a long id', `request-${'x'.repeat(400)}`],
    ])('keeps a request id whole, because confirmations ask for it: %s', async (_, requestId) => {
      const queue = await queueAfter(['a'], { answer: () => [{ kind: 'accepted', requestId }] });
      expect(queue.results.get('a')).toMatchObject({ status: 'accepted', requestId });
    });

    it('resends the deliveries that were refused because of another one, without that one', async () => {
      const queue = new TestQueue();
      queue.answer = (items) =>
        items.includes('bad')
          ? items.map((item): Verdict => (item === 'bad' ? { kind: 'rejected', reason: 'bad' } : { kind: 'resend' }))
          : DELIVERED;
      await queue.send(['a', 'bad', 'c']);
      expect(queue.requests).toEqual([
        ['a', 'bad', 'c'],
        ['a', 'c'],
      ]);
      expect(queue.statuses()).toEqual({ a: 'delivered', bad: 'failed bad', c: 'delivered' });
    });

    it('bisects a refused batch if the answer does not identify the rejected payload', async () => {
      const queue = new TestQueue();
      queue.answer = (items) => (items.includes('m63') ? { kind: 'split', reason: 'one is bad' } : DELIVERED);
      for (let index = 0; index < 100; index += 1) queue.enqueue(`m${index}`);
      await queue.settle();
      const failed = Object.entries(queue.statuses()).filter(([, status]) => status !== 'delivered');
      expect(failed).toEqual([['m63', 'failed one is bad']]);
      expect(queue.results.size).toBe(100);
      expect(queue.requests.length).toBeLessThanOrEqual(15);
    });

    it('repeats a refused request once with a fresh token', async () => {
      const queue = await queueAfter(['a'], {
        token: async (stale) => (stale === undefined ? 'old' : `not ${stale}`),
        answer: (_, request) => (request === 1 ? { kind: 'unauthorized', reason: 'expired' } : DELIVERED),
      });
      expect(queue.tokens).toEqual(['old', 'not old']);
      expect(queue.stateChanges).toEqual([]);
      expect(queue.statuses()).toEqual({ a: 'delivered' });
    });

    it('parks the connection if the fresh token is refused too, or none can be fetched', async () => {
      const queue = await queueAfter(['a'], {
        token: async (stale) => stale ?? 'old',
        answer: () => ({ kind: 'unauthorized', reason: 'expired' }),
      });
      expect(queue.requests).toHaveLength(2);

      const other = await queueAfter(['b'], { token: () => Promise.reject(new CredentialsRefused('invalid_grant')) });
      expect(other.requests).toEqual([]);
      expect([queue.stateChanges, other.stateChanges]).toEqual([['park: expired'], ['park: invalid_grant']]);
      expect([queue.statuses(), other.statuses()]).toEqual([
        { a: 'deferred authorization' },
        { b: 'deferred authorization' },
      ]);
    });
  });

  describe('connection state', () => {
    it('parks the connection for a wrong setting without asking for a fresh token', async () => {
      const queue = await queueAfter(['a'], {
        token: async (stale) => stale ?? 'token',
        answer: () => ({ kind: 'misconfigured', reason: 'TERMS_NOT_SIGNED' }),
      });
      queue.enqueue('b');
      expect(queue.requests).toEqual([['a']]);
      expect(queue.tokens).toEqual(['token']);
      expect(queue.stateChanges).toEqual(['park: TERMS_NOT_SIGNED']);
      expect(queue.statuses()).toEqual({ a: 'deferred authorization', b: 'deferred authorization' });
      expect(queue.results.get('a')).toMatchObject({ unknown: false });
    });

    it('sends nothing while the connection is being parked and defers pending deliveries afterwards', async () => {
      const queue = new TestQueue({ batchMax: 1 });
      const change = hanging();
      queue.change = change.promise.then(() => {});
      queue.answer = () => ({ kind: 'unauthorized', reason: 'HTTP 401' });
      await queue.send(['a']);
      await queue.send(['b']);
      expect(queue.requests).toEqual([['a']]);
      expect(queue.statuses()).toEqual({ a: 'deferred authorization' });
      expect(queue.capacity).toBe(0);
      change.release(DELIVERED);
      await queue.settle();
      expect(queue.requests).toEqual([['a']]);
      expect(queue.statuses()['b']).toBe('deferred authorization');
      queue.enqueue('c');
      expect(queue.statuses()['c']).toBe('deferred authorization');
      expect(queue.stateChanges).toEqual(['park: HTTP 401']);
    });

    it('resumes the connection after a successful probe and sends what was enqueued meanwhile', async () => {
      const queue = new TestQueue();
      queue.state = 'parked';
      const change = hanging();
      queue.change = change.promise.then(() => {});
      queue.enqueue('probe', { probe: true });
      await queue.settle();
      expect([queue.statuses(), queue.stateChanges]).toEqual([{ probe: 'delivered' }, ['resume']]);
      await queue.send(['b']);
      expect(queue.results.has('b')).toBe(false);
      change.release(DELIVERED);
      await queue.settle();
      expect(queue.statuses()['b']).toBe('delivered');
    });

    it('leaves the connection parked after a refused probe', async () => {
      const queue = await queueAfter(
        ['probe'],
        { state: 'parked', answer: () => ({ kind: 'unauthorized', reason: 'still' }) },
        { probe: true },
      );
      expect(queue.statuses()).toEqual({ probe: 'deferred authorization' });
      expect(queue.state).toBe('parked');
    });

    it('pauses the connection if the receiver is gone and defers deliveries until it is resumed', async () => {
      const queue = await queueAfter(['a'], { answer: () => ({ kind: 'gone', reason: 'HTTP 410' }) });
      queue.enqueue('b');
      expect(queue.statuses()).toEqual({ a: 'deferred paused', b: 'deferred paused' });
      expect(queue.stateChanges).toEqual(['pause: HTTP 410']);
      queue.state = 'active';
      queue.answer = () => DELIVERED;
      await queue.send(['c']);
      expect(queue.statuses()['c']).toBe('delivered');
    });

    it('fails deliveries to a disconnected platform', async () => {
      const queue = await queueAfter(['a'], { state: 'gone' });
      expect(queue.statuses()).toEqual({ a: 'failed disconnected' });
    });
  });

  describe('circuit breaker', () => {
    it('opens after five failed requests, then admits one request that decides', async () => {
      const queue = new TestQueue({ batchMax: 1 });
      queue.answer = () => new NoResponse({ kind: 'retry', reason: 'network_error', unknown: true });
      for (let index = 0; index < 5; index += 1) queue.enqueue(`${index}`);
      await queue.settle();
      queue.enqueue('refused');
      expect(queue.statuses()).toMatchObject({ 0: 'deferred network_error', refused: 'deferred circuit_open' });
      expect(queue.capacity).toBe(0);

      jest.spyOn(performance, 'now').mockReturnValue(performance.now() + OPEN_MS);
      expect(queue.capacity).toBe(1);
      const request = hanging();
      queue.answer = () => request.promise;
      await queue.send(['decides', 'pending']);
      expect(queue.requests).toHaveLength(6);
      expect(queue.capacity).toBe(0);
      request.release(DELIVERED);
      await queue.settle();
      expect(queue.statuses()).toMatchObject({ decides: 'delivered', pending: 'delivered' });
      expect(queue.capacity).toBe(2_000);
      jest.restoreAllMocks();
    });

    it('defers pending deliveries after two seconds if the platform hangs', async () => {
      const queue = new TestQueue({ batchMax: 1 });
      queue.answer = () => hanging().promise;
      for (let index = 0; index < 8; index += 1) queue.enqueue(`request ${index}`);
      await queue.settle();
      queue.enqueue('pending');
      queue.tick();
      expect(queue.results.size).toBe(0);
      jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_000);
      queue.tick();
      queue.enqueue('later');
      expect(queue.statuses()).toEqual({ pending: 'deferred circuit_open', later: 'deferred circuit_open' });
      jest.restoreAllMocks();
    });

    it('defers deliveries for as long as the platform throttles, and no longer', async () => {
      const queue = await queueAfter(['a'], {
        answer: () => ({ kind: 'retry', reason: 'throttled', afterMs: 60_000 }),
      });
      queue.enqueue('b');
      expect(queue.statuses()).toEqual({ a: 'deferred throttled', b: 'deferred throttled' });
      expect(queue.capacity).toBe(0);
      const later = performance.now() + 60_001;
      jest.spyOn(performance, 'now').mockImplementation(() => later);
      expect(queue.capacity).toBeGreaterThan(1);
      queue.answer = () => DELIVERED;
      await queue.send(['c']);
      expect(queue.statuses()['c']).toBe('delivered');
      jest.restoreAllMocks();
    });

    it('fails deliveries to an address that may not be called', async () => {
      const queue = await queueAfter(['a'], {
        answer: () => new NoResponse({ kind: 'rejected', reason: 'address_refused' }),
      });
      expect(queue.statuses()).toEqual({ a: 'failed address_refused' });
    });
  });

  it('withdraws deliveries that this process may no longer make', async () => {
    const queue = new TestQueue();
    queue.enqueue('a');
    queue.enqueue('b', { mayDeliver: () => false });
    await queue.settle();
    expect(queue.requests).toEqual([['a']]);
    expect(queue.statuses()).toEqual({ a: 'delivered', b: 'withdrawn' });
  });

  it('sends nothing if waiting for the access token took longer than the delivery may wait', async () => {
    const queue = new TestQueue();
    let mayDeliver = true;
    queue.token = async () => {
      mayDeliver = false;
      return 'token';
    };
    queue.enqueue('a', { mayDeliver: () => mayDeliver });
    await queue.settle();
    expect(queue.requests).toEqual([]);
    expect(queue.statuses()).toEqual({ a: 'withdrawn' });
  });

  describe('with a database that does not answer', () => {
    beforeEach(() => {
      jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance', 'nextTick', 'queueMicrotask'] });
    });
    afterEach(() => {
      jest.useRealTimers();
    });

    it('defers a delivery whose access token does not arrive', async () => {
      const queue = await queueAfter(['a'], { token: () => new Promise<string>(() => {}) });
      jest.advanceTimersByTime(10_000);
      await queue.settle();
      expect(queue.statuses()).toEqual({ a: 'deferred network_error' });
    });

    it('accepts deliveries again although parking the connection does not end', async () => {
      const queue = await queueAfter(['a'], {
        change: new Promise<void>(() => {}),
        answer: () => ({ kind: 'unauthorized', reason: 'HTTP 401' }),
      });
      expect(queue.capacity).toBe(0);
      jest.advanceTimersByTime(10_000);
      await queue.settle();
      expect(queue.capacity).toBeGreaterThan(0);
    });
  });

  it('defers deliveries that fail because of a bug', async () => {
    const broken = () => {
      throw new TypeError('cannot read x of undefined');
    };
    for (const part of ['request', 'verdict'] as const) {
      const queue = new TestQueue({ [part]: broken });
      await queue.send(['a']);
      expect(queue.statuses()).toEqual({ a: 'deferred server_error' });
      expect(queue.errors).toEqual([expect.any(TypeError)]);
    }
  });

  describe('unknown outcomes', () => {
    const unknownOf = async (answer: Answer, options: Partial<QueuedDelivery> = {}) => {
      const queue = new TestQueue();
      queue.answer = () => answer;
      queue.enqueue('a', options);
      await queue.settle();
      return queue.results.get('a')?.unknown;
    };

    it('reports whether the platform may have accepted a conversion that was not confirmed', async () => {
      expect(await unknownOf({ kind: 'retry', reason: 'server_error' })).toBe(true);
      expect(await unknownOf(new NoResponse({ kind: 'retry', reason: 'timeout', unknown: true }))).toBe(true);
      expect(await unknownOf(new TypeError('cannot read the answer'))).toBe(true);
      expect(await unknownOf({ kind: 'retry', reason: 'throttled' })).toBe(false);
      expect(await unknownOf(new NoResponse({ kind: 'retry', reason: 'network_error', unknown: false }))).toBe(false);
      expect(await unknownOf({ kind: 'rejected', reason: 'invalid' })).toBe(false);
      expect(await unknownOf({ kind: 'unauthorized', reason: 'HTTP 401' })).toBe(false);
    });

    it('knows that nothing was sent when the token request failed', async () => {
      const queue = await queueAfter(['a'], {
        token: () => {
          throw new NoResponse({ kind: 'retry', reason: 'network_error', unknown: true });
        },
      });
      expect(queue.results.get('a')).toMatchObject({ status: 'deferred', unknown: false });
    });

    it('reports an unknown outcome when the attempt may not go on after a request that was accepted in part', async () => {
      const queue = new TestQueue();
      let mayDeliver = true;
      queue.answer = () => {
        mayDeliver = false;
        return { kind: 'split', reason: 'Only 1 of 2 events were received', unknown: true };
      };
      for (const body of ['a', 'b']) queue.enqueue(body, { mayDeliver: () => mayDeliver });
      await queue.settle();
      expect(queue.requests).toEqual([['a', 'b']]);
      expect([...queue.results.values()]).toMatchObject(Array(2).fill({ status: 'deferred', unknown: true }));
    });

    it('remembers within an attempt that a split request was accepted in part', async () => {
      const queue = await queueAfter(['a', 'b'], {
        answer: (items, request) => {
          if (request === 1) return { kind: 'split', reason: 'Only 1 of 2 events were received', unknown: true };
          return items[0] === 'a' ? { kind: 'retry', reason: 'server_error', unknown: false } : DELIVERED;
        },
      });
      expect(queue.results.get('a')).toMatchObject({ status: 'deferred', unknown: true });
      expect(queue.results.get('b')).toMatchObject({ status: 'delivered' });
    });
  });

  describe('accounts', () => {
    const earlier = (body: string) => ({ payload: { body, group: undefined, account: EARLIER } });

    it('sends each conversion to the account that its payload was built for', async () => {
      const queue = new TestQueue();
      queue.enqueue('a', { ...earlier('a'), bound: true });
      queue.enqueue('b');
      queue.enqueue('c', { ...earlier('c'), bound: true });
      await queue.settle();
      expect([queue.requests, queue.pixels]).toEqual([
        [['a', 'c'], ['b']],
        ['earlier', 'current'],
      ]);
    });

    it.each<[Verdict]>([[{ kind: 'unauthorized', reason: 'HTTP 403' }], [{ kind: 'gone', reason: 'HTTP 410' }]])(
      'does not park or pause the connection for an account that it no longer has: %p',
      async (verdict) => {
        const queue = new TestQueue();
        queue.answer = () => verdict;
        queue.enqueue('a', { ...earlier('a'), bound: true });
        queue.enqueue('b', earlier('b'));
        await queue.settle();
        expect(queue.stateChanges).toEqual([]);
        expect(queue.statuses()['a']).toBe('failed account_disconnected');
        expect(queue.results.get('b')?.status).toBe('deferred');
      },
    );
  });
});
