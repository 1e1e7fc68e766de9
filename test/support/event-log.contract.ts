import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientBase } from 'pg';
import { LogUnavailable } from '../../src/kernel/errors.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { AppendOutcome, AppendRequest } from '../../src/log/event.js';
import type { EventLog } from '../../src/log/event-log.js';

export const DAY_MS = 24 * 60 * 60 * 1_000;

/** A request to append one event to a stream of category `thing`. */
export function thing(stream: string = uuidv7(), over: Partial<AppendRequest> = {}): AppendRequest {
  const events: AppendRequest['events'] = [{ type: 'thing.happened.v1', data: { stream } }];
  return { category: 'thing', stream, expected: 'new', site: 'shop.example', actor: 'system', events, ...over };
}

export function claiming(key: string, windowMs = DAY_MS, weak = false): AppendRequest {
  return thing(uuidv7(), { claim: { key, windowMs, weak } });
}

/** A row of a call of `cc.append`. */
export const appendRow = (over: object = {}) => ({
  ...{ n: 1, k: 1, id: uuidv7(), category: 'thing', stream: uuidv7(), type: 't', site: 's', actor: 'a', data: {} },
  ...over,
});

/** Calls `cc.append` and returns its outcome. `within`: intervals from now on, in which the time of the batch must be. */
export async function callAppend(
  client: Pick<ClientBase, 'query'>,
  rows: readonly object[],
  { again = false, within = [null, null] as readonly (string | null)[] } = {},
) {
  const call = `SELECT cc.append($1, $2, false, NULL, now() + $3::interval, now() + $4::interval, NULL, '{}') AS outcome`;
  return (await client.query(call, [JSON.stringify(rows), again, ...within])).rows[0].outcome;
}

function positionOf(outcome: AppendOutcome): number {
  if (outcome.status !== 'appended') throw new Error(`Not appended: ${outcome.status}`);
  return outcome.position;
}

/** What every event log does. Runs on PostgreSQL and in memory, so that specs on the in-memory log can be trusted. */
export function describeEventLog(log: () => EventLog): void {
  describe('append', () => {
    it('stores an event with its personal part and returns position and time of the last one', async () => {
      const stream = uuidv7();
      const personal = { subject: 'ab'.repeat(32), phone: 'cd' };
      const events: AppendRequest['events'] = [
        {
          type: 'thing.happened.v1',
          data: { amount: 12.5, name: 'Zoë "quoted" \\ 日本' },
          personal,
          reference: 'ORD-1',
        },
        { type: 'thing.ended.v1', data: {} },
      ];
      const outcome = await log().append(thing(stream, { events }));
      const [first, second] = await log().readStream('thing', stream);
      expect(first).toEqual({
        position: expect.any(Number),
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        type: 'thing.happened.v1',
        stream: `thing-${stream}`,
        version: 1,
        site: 'shop.example',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        actor: 'system',
        data: { amount: 12.5, name: 'Zoë "quoted" \\ 日本' },
        personal,
      });
      expect(second).toMatchObject({ type: 'thing.ended.v1', version: 2, personal: null });
      expect(outcome).toEqual({ status: 'appended', position: second?.position, time: second?.time });
      expect((await log().find('shop.example', 'ORD-1')).map(({ id }) => id)).toEqual([first?.id]);
      expect(await log().find('other.example', 'ORD-1')).toEqual([]);
    });

    it('finds the oldest or the newest events of some types with a reference', async () => {
      const reference = uuidv7();
      const types = ['thing.happened.v1', 'thing.ended.v1', 'thing.happened.v1', 'thing.happened.v1'];
      for (const [at, type] of types.entries())
        await log().append(thing(uuidv7(), { events: [{ type, data: { at }, reference }] }));
      const some = { types: ['thing.happened.v1'] };
      const find = async (limit: number, newest = false) =>
        (await log().find('shop.example', reference, { ...some, limit, newest })).map(({ data }) => data);
      expect(await find(2)).toEqual([{ at: 0 }, { at: 2 }]);
      expect(await find(2, true)).toEqual([{ at: 2 }, { at: 3 }]);
      expect(await find(9)).toEqual([{ at: 0 }, { at: 2 }, { at: 3 }]);
    });

    it('omits fields that are undefined', async () => {
      const stream = uuidv7();
      await log().append(thing(stream, { events: [{ type: 'thing.happened.v1', data: { a: undefined, b: null } }] }));
      expect((await log().readStream('thing', stream))[0]?.data).toEqual({ b: null });
    });

    it('stores events with another change, unless the stream has another version', async () => {
      const stream = uuidv7();
      let changes = 0;
      const append = (expected: number) =>
        log().appendWith({ ...thing(stream), expected }, async () => {
          changes += 1;
        });
      const outcome = await append(0);
      const [event] = await log().readStream('thing', stream);
      expect(outcome).toEqual({ status: 'appended', position: event?.position, time: event?.time });
      expect(changes).toBe(1);
      expect(await append(0)).toEqual({ status: 'conflict' });
      expect(await append(1)).toMatchObject({ status: 'appended' });
      expect((await log().readStream('thing', stream)).map(({ version }) => version)).toEqual([1, 2]);
    });

    it('stores no event if the other change fails', async () => {
      const stream = uuidv7();
      const append = log().appendWith({ ...thing(stream), expected: 0 }, async () => {
        throw new Error('refused');
      });
      await expect(append).rejects.toThrow('refused');
      expect(await log().readStream('thing', stream)).toEqual([]);
    });

    it('answers each of the requests of one turn by itself', async () => {
      const [first, other] = [uuidv7(), uuidv7()];
      const opened = positionOf(await log().append(thing(first)));
      const owned = { owned: 1, position: opened };
      const late = thing(uuidv7(), { notAfterMs: Date.parse('2026-01-01T00:00:00Z') });
      const requests = [thing(first, { expected: owned }), thing(other), thing(first, { expected: owned }), late];
      const outcomes = await Promise.all(
        requests.map((request) =>
          log()
            .append(request)
            .catch((error: Error) => error),
        ),
      );
      const ends = await log().readEnds('thing', [first, other]);
      const positions = new Map(ends.map(({ stream, position, version }) => [stream, { position, version }]));
      expect(positions.get(`thing-${first}`)?.version).toBe(2);
      expect(outcomes).toEqual([
        { status: 'appended', position: positions.get(`thing-${first}`)?.position, time: expect.any(String) },
        { status: 'appended', position: positions.get(`thing-${other}`)?.position, time: expect.any(String) },
        { status: 'conflict' },
        expect.any(LogUnavailable),
      ]);
    });

    it('refuses a decision made on an outdated version, and no other', async () => {
      const stream = uuidv7();
      await log().append(thing(stream, { expected: 0 }));
      const racers = await Promise.all([1, 1, 1].map((expected) => log().append(thing(stream, { expected }))));
      expect(racers.map(({ status }) => status).sort()).toEqual(['appended', 'conflict', 'conflict']);
      expect((await log().readStream('thing', stream)).map(({ version }) => version)).toEqual([1, 2]);
    });

    it('numbers events with expected version "any" in the order of the requests', async () => {
      const stream = uuidv7();
      const outcomes = await Promise.all(
        Array.from({ length: 5 }, () => log().append(thing(stream, { expected: 'any' }))),
      );
      expect(outcomes.every(({ status }) => status === 'appended')).toBe(true);
      expect((await log().readStream('thing', stream)).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5]);
    });

    it('continues a stream that still ends at the event its sender knows, and no other', async () => {
      const stream = uuidv7();
      const append = async (owned: number, position: number) =>
        log().append(thing(stream, { expected: { owned, position } }));
      const first = positionOf(await log().append(thing(stream)));
      const second = positionOf(await append(1, first));
      expect(await append(1, first)).toEqual({ status: 'conflict' });
      expect(await append(3, second)).toEqual({ status: 'conflict' });
      expect(await append(2, second)).toMatchObject({ status: 'appended' });
      expect((await log().readStream('thing', stream)).map(({ version }) => version)).toEqual([1, 2, 3]);
    });

    it('stores all events of a request or none, and refuses a stream that is not new', async () => {
      const [stream, other] = [uuidv7(), uuidv7()];
      const events: AppendRequest['events'] = [
        { type: 'thing.happened.v1', data: {} },
        { type: 'thing.ended.v1', data: {} },
      ];
      const position = positionOf(await log().append(thing(stream)));
      const outcomes = await Promise.all([
        log().append(thing(stream, { expected: { owned: 0, position }, events })),
        log().append(thing(other, { events })),
        log().append(thing(stream)),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(['conflict', 'appended', 'conflict']);
      expect(await log().readStream('thing', stream)).toHaveLength(1);
      expect((await log().readStream('thing', other)).map(({ version }) => version)).toEqual([1, 2]);
    });

    it('stores nothing after the deadline that the sender states', async () => {
      const late = thing(uuidv7(), { notAfterMs: Date.now() - 60_000 });
      await expect(log().append(late)).rejects.toThrow(LogUnavailable);
      expect(await log().append(thing(uuidv7(), { notAfterMs: Date.now() + 60_000 }))).toMatchObject({
        status: 'appended',
      });
      expect(await log().read()).toHaveLength(1);
    });
  });

  describe('a request that was decided as of a position', () => {
    const [person, other] = ['ab'.repeat(32), 'cd'.repeat(32)];
    const about = (subject: string, over: Partial<AppendRequest> = {}) =>
      thing(uuidv7(), { events: [{ type: 'thing.happened.v1', data: {}, personal: { subject } }], ...over });
    const visited = (subject: string, site = 'shop.example') => about(subject, { category: 'visitor', site });
    const erased = (site = 'shop.example') => thing(uuidv7(), { category: 'visitor', site });

    it('is stale when a newer visitor event is about its subject and site, and stores nothing', async () => {
      await log().append(visited(person));
      const asOf = { position: await log().head(), found: false };
      for (const unrelated of [visited(other), visited(person, 'other.example'), about(person), erased()])
        await log().append(unrelated);
      const claim = { key: randomUUID(), windowMs: DAY_MS, weak: false };
      expect(await log().append(about(person, { asOf }))).toMatchObject({ status: 'appended' });
      await log().append(visited(person));
      const before = await log().head();
      const two: AppendRequest['events'] = [...about(person).events, { type: 'thing.ended.v1', data: {} }];
      const outcomes = await Promise.all(
        [{ claim }, { events: two }].map((over) => log().append(about(person, { asOf, ...over }))),
      );
      expect(outcomes).toEqual([{ status: 'stale' }, { status: 'stale' }]);
      expect(await log().head()).toBe(before);
      // Nor was its dedup claim made.
      const again = about(person, { asOf: { ...asOf, position: before }, claim });
      expect(await log().append(again)).toMatchObject({ status: 'appended' });
    });

    it('is stale if an event about its subject waits with it to be stored', async () => {
      const asOf = { position: await log().head(), found: false };
      const [, outcome] = await Promise.all([log().append(visited(person)), log().append(about(person, { asOf }))]);
      expect(outcome).toEqual({ status: 'stale' });
    });

    it('is stale after an erasure at its site if something was found, but not after personal parts expired', async () => {
      const asOf = { position: positionOf(await log().append(visited(person))), found: true };
      await log().append(erased('other.example'));
      for (const reason of ['unidentified', 'expired']) {
        const data = { events: 1, identifiers: 0, claims: 0, [reason]: true };
        const expired = { type: 'visitor.erased.v1', data };
        await log().append(thing(uuidv7(), { category: 'visitor', events: [expired] }));
      }
      expect(await log().append(about(person, { asOf }))).toMatchObject({ status: 'appended' });
      await log().append(erased());
      expect(await log().append(about(person, { asOf }))).toEqual({ status: 'stale' });
      expect(await log().append(about(person, { asOf: { ...asOf, found: false } }))).toMatchObject({
        status: 'appended',
      });
    });
  });

  describe('a dedup claim', () => {
    it('is won by the first request, also within one batch, and names the holder to the others', async () => {
      const key = randomUUID();
      const requests = Array.from({ length: 20 }, () => claiming(key));
      const outcomes = await Promise.all(requests.map((request) => log().append(request)));
      expect(outcomes[0]?.status).toBe('appended');
      expect(outcomes.slice(1)).toEqual(outcomes.slice(1).map(() => ({ status: 'claimed', by: requests[0]?.stream })));
      expect(await log().read()).toHaveLength(1);
    });

    it('expires with its window, and a window of 0 never refuses', async () => {
      const key = randomUUID();
      await log().append(claiming(key));
      await sleep(60);
      expect(await log().append(claiming(key, 50))).toMatchObject({ status: 'appended' });
      expect(await log().append(claiming(key, 60_000))).toMatchObject({ status: 'claimed' });
      expect(await log().append(claiming(key, 0))).toMatchObject({ status: 'appended' });
    });

    it('yields to a strong claim when it is weak', async () => {
      const key = randomUUID();
      const strong = claiming(key);
      expect(await log().append(claiming(key, DAY_MS, true))).toMatchObject({ status: 'appended' });
      expect(await log().append(claiming(key, DAY_MS, true))).toMatchObject({ status: 'claimed' });
      expect(await log().append(strong)).toMatchObject({ status: 'appended' });
      expect(await log().append(claiming(key, DAY_MS, true))).toEqual({ status: 'claimed', by: strong.stream });
    });

    it('applies within one site only', async () => {
      const key = randomUUID();
      const outcomes = await Promise.all(
        [claiming(key), { ...claiming(key), site: 'other.example' }].map((request) => log().append(request)),
      );
      expect(outcomes.map(({ status }) => status)).toEqual(['appended', 'appended']);
    });
  });

  describe('reading', () => {
    const type = (name: string, data: object = {}, over: Partial<AppendRequest> = {}) =>
      log().append(thing(uuidv7(), { events: [{ type: name, data }], ...over }));

    it('selects by position range, type, category, site and data field, in log order', async () => {
      await type('thing.one.v1', { n: '1' });
      await type('thing.two.v1', { n: '2' });
      await type('thing.one.v1', { n: '2' }, { site: 'other.example' });
      await type('item.one.v1', {}, { category: 'item' });
      const all = await log().read();
      const [first, second, third, fourth] = all.map(({ position }) => position) as [number, number, number, number];
      const positions = async (options: Parameters<EventLog['read']>[0]) =>
        (await log().read(options)).map(({ position }) => position);
      expect(await log().head()).toBe(fourth);
      expect(await positions({ after: first, until: third })).toEqual([second, third]);
      expect(await positions({ types: ['thing.one.v1'] })).toEqual([first, third]);
      expect(await positions({ categories: ['item'] })).toEqual([fourth]);
      expect(await positions({ site: 'other.example' })).toEqual([third]);
      expect(await positions({ unless: { field: 'n', is: '2' } })).toEqual([first, fourth]);
      expect(await positions({ limit: 2 })).toEqual([first, second]);
      expect(await positions({ limit: 2, newest: true })).toEqual([third, fourth]);
      expect(await log().pageEnd(first, 2)).toBe(third);
      expect(await log().pageEnd(fourth, 2)).toBe(fourth);
    });

    it('finds the first and the last event of streams', async () => {
      const [one, other] = [uuidv7(), uuidv7()];
      for (const stream of [one, other, one, one]) await log().append(thing(stream, { expected: 'any' }));
      const versions = (events: readonly { stream: string; version: number }[]) =>
        new Map(events.map(({ stream, version }) => [stream, version]));
      const streams = [one, other, uuidv7()];
      expect(versions(await log().readOpenings('thing', streams))).toEqual(
        new Map([
          [`thing-${one}`, 1],
          [`thing-${other}`, 1],
        ]),
      );
      const opened = await log().findOpened('thing', streams);
      expect([...opened.keys()].sort()).toEqual([one, other].sort());
      expect(await log().findOpened('item', streams)).toEqual(new Map());
      expect(versions(await log().readEnds('thing', streams))).toEqual(
        new Map([
          [`thing-${one}`, 3],
          [`thing-${other}`, 1],
        ]),
      );
      expect(await log().readStream('item', one)).toEqual([]);
    });

    it('stores an event under the id that the request states, and finds it by its stream', async () => {
      const [stream, id] = [uuidv7(), uuidv7()];
      await log().append({
        ...{ category: 'thing', stream, expected: 'new', site: 'shop.example', actor: 'system', ids: [id] },
        events: [{ type: 'thing.one.v1', data: {} }],
      });
      expect(await log().findOpened('thing', [stream])).toEqual(new Map([[stream, { type: 'thing.one.v1', id }]]));
    });

    it('counts events by site, type, minute and data fields', async () => {
      for (const mode of ['a', 'b', 'a']) await type('thing.one.v1', { mode });
      await type('thing.two.v1');
      const until = await log().head();
      const counts = await log().count({ after: 0, until, types: ['thing.one.v1'], by: ['mode'] });
      const byMode = new Map<string | null | undefined, number>();
      for (const { values, count } of counts) byMode.set(values[0], (byMode.get(values[0]) ?? 0) + count);
      expect([...byMode].sort()).toEqual([
        ['a', 2],
        ['b', 1],
      ]);
    });

    it('lists the subjects of one length', async () => {
      const [person, visitor] = ['ab'.repeat(32), 'cd'.repeat(16)];
      for (const subject of [person, visitor])
        await log().append(
          thing(uuidv7(), { events: [{ type: 'thing.happened.v1', data: {}, personal: { subject } }] }),
        );
      const until = await log().head();
      const found = await log().subjects({ after: 0, until, types: ['thing.happened.v1'], bytes: 32 });
      expect(found).toEqual([{ position: expect.any(Number), site: 'shop.example', subject: person }]);
    });

    it('resolves a time to the last position before it', async () => {
      for (let turn = 0; turn < 12; turn += 1) {
        await log().append(thing());
        await sleep(3);
      }
      const events = await log().read();
      for (const event of events) {
        const earlier = events.filter(({ time }) => time < event.time).at(-1);
        expect(await log().positionBefore(new Date(event.time))).toBe(earlier?.position ?? 0);
      }
      expect(await log().positionBefore(new Date(Date.now() + 60_000))).toBe(events.at(-1)?.position);
    });
  });

  describe('a follower', () => {
    it('receives the events of its categories in order, and reaches the head of the log', async () => {
      const seen: string[] = [];
      const follower = await log().follow({ name: 'test', after: 0, categories: ['wanted'] }, (events) => {
        seen.push(...events.map(({ type }) => type));
      });
      await Promise.all(Array.from({ length: 30 }, () => log().append(thing())));
      await log().append(thing(uuidv7(), { category: 'wanted' }));
      await follower.poll();
      expect(seen).toEqual(['thing.happened.v1']);
      expect(follower.position).toBe(await log().head());
      expect(log().readers()).toEqual([follower]);
      await follower.stop();
      expect(log().readers()).toEqual([]);
    });

    it('receives only the events about subjects of a length', async () => {
      const seen: (string | undefined)[] = [];
      const options = { name: 'test', after: 0, categories: ['thing'], subjectBytes: 32 };
      const follower = await log().follow(options, (events) => {
        seen.push(...events.map(({ personal }) => personal?.subject));
      });
      const [person, visitor] = ['ab'.repeat(32), 'cd'.repeat(16)];
      for (const personal of [{ subject: visitor }, { subject: person }, {}, undefined])
        await log().append(
          thing(uuidv7(), { events: [{ type: 'thing.happened.v1', data: {}, ...(personal && { personal }) }] }),
        );
      await follower.poll();
      expect(seen).toEqual([person]);
      expect(follower.position).toBe(await log().head());
      await follower.stop();
    });
  });
}
