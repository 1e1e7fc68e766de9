import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import type { Connection, Platform, PlatformRequest, PlatformResponse, Verdict } from '../platforms/platform.js';
import { CredentialsRefused, Lane, type LaneResult, NoAnswer, type Parcel } from './lane.js';

const CONNECTION: Connection = { settings: {}, secrets: {} };
const OPEN_MS = 10_000;
const DELIVERED: Verdict = { kind: 'delivered' };

type Answer = Verdict | readonly Verdict[] | Error;

/** A platform whose answers the test gives, call by call, and a world around it. */
class World {
  /** The payloads of each call. */
  readonly calls: string[][] = [];
  readonly results = new Map<string, LaneResult>();
  readonly said: string[] = [];
  readonly faults: unknown[] = [];
  readonly tokens: (string | undefined)[] = [];
  state: 'active' | 'paused' | 'parked' | 'gone' = 'active';
  answer: (items: readonly string[], call: number) => Answer | Promise<Answer> = () => DELIVERED;
  token: (stale?: string) => string | undefined | Promise<string> = () => undefined;
  change: Promise<void> = Promise.resolve();
  readonly lane: Lane;

  constructor(platform: Partial<Platform> = {}) {
    let answered: Answer = DELIVERED;
    const whole = {
      name: 'meta',
      batchMax: 100,
      request: (items: readonly string[], { accessToken }: { accessToken?: string }) => {
        this.calls.push([...items]);
        this.tokens.push(accessToken);
        return { method: 'POST', url: 'https://platform.example', headers: {}, body: items.join() };
      },
      verdict: () => answered,
      ...platform,
    } as unknown as Platform;
    const change = (word: string, state: World['state']) => async (reason?: string) => {
      this.said.push(reason === undefined ? word : `${word}: ${reason}`);
      await this.change;
      this.state = state;
    };
    this.lane = new Lane(
      whole,
      {
        state: () => (this.state === 'gone' ? undefined : this.state),
        connection: () => (this.state === 'gone' ? undefined : CONNECTION),
        send: async (_: PlatformRequest) => {
          const answer = await this.answer(this.calls.at(-1) as string[], this.calls.length);
          if (answer instanceof Error) throw answer;
          answered = answer;
          return { status: 200, headers: {}, text: 'said', json: undefined } satisfies PlatformResponse;
        },
        accessToken: async (_, stale) => this.token(stale),
        park: change('park', 'parked'),
        pause: change('pause', 'paused'),
        resume: change('resume', 'active'),
        fault: (error) => this.faults.push(error),
      },
      OPEN_MS,
    );
  }

  offer(body: string, parcel: Partial<Parcel> = {}): void {
    this.lane.offer({
      body,
      group: undefined,
      alone: false,
      probe: false,
      mayGo: () => true,
      done: (result) => {
        if (this.results.has(body)) throw new Error(`${body} was settled twice`);
        this.results.set(body, result);
      },
      ...parcel,
    });
  }

  /** Until nothing moves by itself any more. */
  async settle(): Promise<void> {
    for (let round = 0; round < 60; round += 1) await turn();
  }

  statuses(): Record<string, string> {
    const word = ({ status, reason }: LaneResult) => (reason === undefined ? status : `${status} ${reason}`);
    return Object.fromEntries([...this.results].map(([body, result]) => [body, word(result)]));
  }
}

/** Never answers by itself. */
function hanging() {
  let release: (answer: Answer) => void = () => {};
  const promise = new Promise<Answer>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

describe('Lane', () => {
  describe('sharing calls', () => {
    it('puts what arrives in one turn into one call, and waits for nothing else', async () => {
      const world = new World();
      for (const body of ['a', 'b', 'c']) world.offer(body);
      expect(world.calls).toEqual([]);
      await turn();
      await turn();
      expect(world.calls).toEqual([['a', 'b', 'c']]);
      world.offer('d');
      await world.settle();
      expect(world.calls).toEqual([['a', 'b', 'c'], ['d']]);
      expect(world.statuses()).toEqual({ a: 'delivered', b: 'delivered', c: 'delivered', d: 'delivered' });
    });

    it('keeps groups apart, batches within the bound, and alone what is to be alone', async () => {
      const world = new World({ batchMax: 2 });
      for (const body of ['a1', 'a2', 'a3']) world.offer(body, { group: 'a' });
      world.offer('b1', { group: 'b' });
      world.offer('x', { group: 'a', alone: true });
      await world.settle();
      expect(world.calls).toEqual([['a1', 'a2'], ['a3'], ['b1'], ['x']]);
    });

    it('has eight calls under way at most where they can be shared', async () => {
      const world = new World({ batchMax: 2 });
      world.answer = () => hanging().promise;
      for (let index = 0; index < 100; index += 1) world.offer(`call ${index}`);
      await world.settle();
      expect(world.calls).toHaveLength(8);
    });

    it('has 32 calls under way at most where each carries one, and 2,000 parcels waiting', async () => {
      const world = new World({ batchMax: 1 });
      const call = hanging();
      world.answer = () => call.promise;
      for (let index = 0; index < 32; index += 1) world.offer(`call ${index}`);
      await world.settle();
      for (let index = 0; index < 2_000; index += 1) world.offer(`waits ${index}`);
      await world.settle();
      expect(world.calls).toHaveLength(32);
      expect(world.lane.room).toBe(0);
      world.offer('one too many');
      expect(world.statuses()).toEqual({ 'one too many': 'deferred pending' });
      call.release(DELIVERED);
      await sleep(50);
      expect(world.calls).toHaveLength(2_032);
      expect(world.results.size).toBe(2_033);
      expect(world.lane.room).toBe(2_000);
    });
  });

  describe('answers', () => {
    it('gives each its own verdict, and none to what the answer leaves out', async () => {
      const world = new World();
      world.answer = () => [
        { kind: 'accepted', requestId: 'r1' },
        { kind: 'rejected', reason: 'too old' },
        { kind: 'retry', reason: 'throttled', afterMs: 5 },
      ];
      for (const body of ['a', 'b', 'c', 'd']) world.offer(body);
      await world.settle();
      expect(world.statuses()).toEqual({
        a: 'accepted',
        b: 'failed too old',
        c: 'deferred throttled',
        d: 'deferred server_error',
      });
      expect(world.results.get('a')).toMatchObject({ requestId: 'r1', httpStatus: 200, response: 'said' });
      expect(world.results.get('c')).toMatchObject({ afterMs: 5 });
    });

    it('hands on nothing that the log would refuse, or that is about a person', async () => {
      const world = new World();
      const said = 'bad\0\ud800 jane@example.com';
      world.answer = () => [
        { kind: 'rejected', reason: said, requestId: said },
        { kind: 'unauthorized', reason: said },
      ];
      for (const body of ['a', 'b']) world.offer(body);
      await world.settle();
      expect(world.results.get('a')).toMatchObject({ reason: 'bad …', requestId: 'bad …' });
      expect(world.said).toEqual(['park: bad …']);
    });

    it('sends again those that were refused for the sake of another, without that one', async () => {
      const world = new World();
      world.answer = (items) =>
        items.includes('bad')
          ? items.map((item): Verdict => (item === 'bad' ? { kind: 'rejected', reason: 'bad' } : { kind: 'resend' }))
          : DELIVERED;
      for (const body of ['a', 'bad', 'c']) world.offer(body);
      await world.settle();
      expect(world.calls).toEqual([
        ['a', 'bad', 'c'],
        ['a', 'c'],
      ]);
      expect(world.statuses()).toEqual({ a: 'delivered', bad: 'failed bad', c: 'delivered' });
    });

    it('finds the bad one by halves where nobody names it', async () => {
      const world = new World();
      world.answer = (items) => (items.includes('m63') ? { kind: 'split', reason: 'one is bad' } : DELIVERED);
      for (let index = 0; index < 100; index += 1) world.offer(`m${index}`);
      await world.settle();
      const failed = Object.entries(world.statuses()).filter(([, status]) => status !== 'delivered');
      expect(failed).toEqual([['m63', 'failed one is bad']]);
      expect(world.results.size).toBe(100);
      expect(world.calls.length).toBeLessThanOrEqual(15);
    });

    it('tries a fresh token once, with the same call', async () => {
      const world = new World();
      world.token = async (stale) => (stale === undefined ? 'old' : `not ${stale}`);
      world.answer = (_, call) => (call === 1 ? { kind: 'unauthorized', reason: 'expired' } : DELIVERED);
      world.offer('a');
      await world.settle();
      expect(world.tokens).toEqual(['old', 'not old']);
      expect(world.said).toEqual([]);
      expect(world.statuses()).toEqual({ a: 'delivered' });
    });

    it('parks the connection when the fresh token is refused too, or none is to be had', async () => {
      const world = new World();
      world.token = async (stale) => stale ?? 'old';
      world.answer = () => ({ kind: 'unauthorized', reason: 'expired' });
      world.offer('a');
      await world.settle();
      expect(world.calls).toHaveLength(2);

      const other = new World();
      other.token = () => Promise.reject(new CredentialsRefused('invalid_grant'));
      other.offer('b');
      await other.settle();
      expect(other.calls).toEqual([]);
      expect([world.said, other.said]).toEqual([['park: expired'], ['park: invalid_grant']]);
      expect([world.statuses(), other.statuses()]).toEqual([
        { a: 'deferred authorization' },
        { b: 'deferred authorization' },
      ]);
    });
  });

  describe('a connection that changes', () => {
    it('sends nothing while it is being parked, and then keeps back what waits', async () => {
      const world = new World({ batchMax: 1 });
      const change = hanging();
      world.change = change.promise.then(() => {});
      world.answer = () => ({ kind: 'unauthorized', reason: 'HTTP 401' });
      world.offer('a');
      await world.settle();
      world.offer('b');
      await world.settle();
      expect(world.calls).toEqual([['a']]);
      expect(world.statuses()).toEqual({ a: 'deferred authorization' });
      expect(world.lane.room).toBe(0);
      change.release(DELIVERED);
      await world.settle();
      expect(world.calls).toEqual([['a']]);
      expect(world.statuses()['b']).toBe('deferred authorization');
      world.offer('c');
      expect(world.statuses()['c']).toBe('deferred authorization');
      expect(world.said).toEqual(['park: HTTP 401']);
    });

    it('is resumed by a parcel that was to try it, and what came meanwhile goes out', async () => {
      const world = new World();
      world.state = 'parked';
      const change = hanging();
      world.change = change.promise.then(() => {});
      world.offer('probe', { probe: true });
      await world.settle();
      expect([world.statuses(), world.said]).toEqual([{ probe: 'delivered' }, ['resume']]);
      world.offer('b');
      await world.settle();
      expect(world.results.has('b')).toBe(false);
      change.release(DELIVERED);
      await world.settle();
      expect(world.statuses()['b']).toBe('delivered');
    });

    it('stays parked when that parcel is refused too', async () => {
      const world = new World();
      world.state = 'parked';
      world.answer = () => ({ kind: 'unauthorized', reason: 'still' });
      world.offer('probe', { probe: true });
      await world.settle();
      expect(world.statuses()).toEqual({ probe: 'deferred authorization' });
      expect(world.state).toBe('parked');
    });

    it('is paused when the receiver wants nothing more, and tells nothing while it is', async () => {
      const world = new World();
      world.answer = () => ({ kind: 'gone', reason: 'HTTP 410' });
      world.offer('a');
      await world.settle();
      world.offer('b');
      expect(world.statuses()).toEqual({ a: 'deferred paused', b: 'deferred paused' });
      expect(world.said).toEqual(['pause: HTTP 410']);
      world.state = 'active';
      world.answer = () => DELIVERED;
      world.offer('c');
      await world.settle();
      expect(world.statuses()['c']).toBe('delivered');
    });

    it('that was taken away fails what it should have carried', async () => {
      const world = new World();
      world.state = 'gone';
      world.offer('a');
      await world.settle();
      expect(world.statuses()).toEqual({ a: 'failed disconnected' });
    });
  });

  describe('a platform in trouble', () => {
    it('gets no more calls after five that brought nothing, then one that decides', async () => {
      const world = new World({ batchMax: 1 });
      world.answer = () => new NoAnswer({ kind: 'retry', reason: 'network_error' });
      for (let index = 0; index < 5; index += 1) world.offer(`${index}`);
      await world.settle();
      world.offer('kept');
      expect(world.statuses()).toMatchObject({ 0: 'deferred network_error', kept: 'deferred circuit_open' });
      expect(world.lane.room).toBe(0);

      jest.spyOn(performance, 'now').mockReturnValue(performance.now() + OPEN_MS);
      expect(world.lane.room).toBe(1);
      const call = hanging();
      world.answer = () => call.promise;
      for (const body of ['decides', 'waits']) world.offer(body);
      await world.settle();
      expect(world.calls).toHaveLength(6);
      expect(world.lane.room).toBe(0);
      call.release(DELIVERED);
      await world.settle();
      expect(world.statuses()).toMatchObject({ decides: 'delivered', waits: 'delivered' });
      expect(world.lane.room).toBe(2_000);
      jest.restoreAllMocks();
    });

    it('that hangs keeps nobody waiting for longer than two seconds', async () => {
      const world = new World({ batchMax: 1 });
      world.answer = () => hanging().promise;
      for (let index = 0; index < 8; index += 1) world.offer(`call ${index}`);
      await world.settle();
      world.offer('waits');
      world.lane.tick();
      expect(world.results.size).toBe(0);
      jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 2_000);
      world.lane.tick();
      world.offer('comes later');
      expect(world.statuses()).toEqual({ waits: 'deferred circuit_open', 'comes later': 'deferred circuit_open' });
      jest.restoreAllMocks();
    });

    it('is left in peace for as long as it asks', async () => {
      const world = new World();
      world.answer = () => ({ kind: 'retry', reason: 'throttled', afterMs: 60_000 });
      world.offer('a');
      await world.settle();
      world.offer('b');
      expect(world.statuses()).toEqual({ a: 'deferred throttled', b: 'deferred throttled' });
    });

    it('whose address may not be called fails what was to go there', async () => {
      const world = new World();
      world.answer = () => new NoAnswer({ kind: 'rejected', reason: 'address_refused' });
      world.offer('a');
      await world.settle();
      expect(world.statuses()).toEqual({ a: 'failed address_refused' });
    });
  });

  it('sends nothing that this process may not send any more, and asks only once', async () => {
    const world = new World();
    let asked = 0;
    // True at the first question and false at the second, as when a lease runs out in between.
    world.offer('a', { mayGo: () => ++asked === 1 });
    world.offer('b', { mayGo: () => false });
    world.offer('c');
    await world.settle();
    expect(world.calls).toEqual([['a', 'c']]);
    expect(world.statuses()).toEqual({ a: 'delivered', b: 'forbidden', c: 'delivered' });
  });

  it('keeps what a mistake of our own stands in the way of', async () => {
    const broken = () => {
      throw new TypeError('cannot read x of undefined');
    };
    for (const part of ['request', 'verdict'] as const) {
      const world = new World({ [part]: broken });
      world.offer('a');
      await world.settle();
      expect(world.statuses()).toEqual({ a: 'deferred server_error' });
      expect(world.faults).toEqual([expect.any(TypeError)]);
    }
  });
});
