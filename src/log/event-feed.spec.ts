import { EventFeed, type Gathered } from './event-feed.js';
import { CountReducer, NewestByActor, type PageRow, type Reducer } from './projections/reducer.js';

const POSITIONS: Reducer<number[]> = {
  types: ['thing.made.v1'],
  start: () => [],
  add: (positions, { position }) => positions.push(position),
};
const LATER: Reducer<number[]> = { ...POSITIONS, unless: { field: 'attempt', is: '1' } };
const FAILS: Reducer<null> = {
  types: ['thing.broken.v1'],
  start: () => null,
  add() {
    throw new Error('cannot be folded');
  },
};

function rowAt(position: number, over: Partial<PageRow> = {}, data: object = {}) {
  const row = {
    position,
    type: 'thing.made.v1',
    category: 'thing',
    site: 'a.example',
    actor: 'key:1',
    timeMs: position,
  };
  return { ...row, id: `id-${position}`, data: () => data, ...over } as PageRow & { id: string };
}

describe('EventFeed', () => {
  let nowMs: number;
  let feed: EventFeed;
  const stateOf = <State>(gathered: Gathered | undefined, reducer: Reducer<State>) =>
    gathered?.source(undefined as never).reduce(reducer);

  beforeEach(() => {
    nowMs = 0;
    feed = new EventFeed([POSITIONS, LATER, FAILS], () => nowMs);
    feed.add(5, [rowAt(6), rowAt(7)]);
  });

  it('gathers consecutive events from where it is asked on', async () => {
    feed.add(7, [rowAt(8)]);
    const gathered = feed.take(5);
    expect(gathered).toMatchObject({ until: 8, lastId: 'id-8' });
    expect(await stateOf(gathered, POSITIONS)).toEqual([6, 7, 8]);
  });

  it('continues after what was taken', async () => {
    feed.take(5);
    expect(feed.take(5)).toBeUndefined();
    feed.add(7, [rowAt(8)]);
    expect(await stateOf(feed.take(7), POSITIONS)).toEqual([8]);
  });

  it('gives nothing that begins elsewhere', () => {
    expect(feed.take(4)).toBeUndefined();
    expect(feed.take(6)).toBeUndefined();
    expect(feed.take(5)?.until).toBe(7);
  });

  it('begins anew after an event of another process', async () => {
    feed.add(8, [rowAt(9)]);
    expect(feed.take(5)).toBeUndefined();
    expect(await stateOf(feed.take(8), POSITIONS)).toEqual([9]);
  });

  it('begins anew where it ends when it is skipped', () => {
    feed.skip();
    expect([feed.after, feed.until]).toEqual([7, 7]);
  });

  it('drops what is older than ten seconds', () => {
    nowMs = 10_001;
    expect(feed.take(5)).toBeUndefined();
    expect(feed.after).toBeUndefined();
  });

  it('drops what was gathered before an append failed', () => {
    feed.clear();
    expect(feed.take(5)).toBeUndefined();
  });

  it('passes to a reducer only what it filters', async () => {
    feed.add(7, [
      rowAt(8, {}, { attempt: 1 }),
      rowAt(9, {}, { attempt: 2 }),
      rowAt(10, { type: 'thing.other.v1' }, { attempt: 2 }),
    ]);
    expect(await stateOf(feed.take(5), LATER)).toEqual([6, 7, 9]);
  });

  it('drops what it has when a reducer fails, and goes on', () => {
    feed.add(7, [rowAt(8, { type: 'thing.broken.v1' })]);
    expect(feed.after).toBeUndefined();
    feed.add(8, [rowAt(9)]);
    expect(feed.take(8)?.until).toBe(9);
  });

  it('does not grow without bound', () => {
    for (let last = 7; last < 120_007; last += 10_000)
      feed.add(
        last,
        Array.from({ length: 10_000 }, (_, at) => rowAt(last + 1 + at)),
      );
    expect(feed.take(5)).toBeUndefined();
    expect(feed.after).toBeGreaterThan(100_000);
  });

  it('refuses to fold with a reducer that it does not know', async () => {
    await expect(stateOf(feed.take(5), new NewestByActor('key:'))).rejects.toThrow('does not list the reducer');
  });
});

describe('a reducer', () => {
  it('counts events of the same site, type, minute and values', () => {
    const counts = new CountReducer(['thing.made.v1'], ['trial', 'mode']);
    const counted = counts.start();
    const add = (data: object, over: Partial<PageRow> = {}) => counts.add(counted, rowAt(1, over, data));
    add({ trial: true });
    add({ trial: 'true' });
    add({ trial: true, mode: undefined });
    add({ mode: 'x' });
    add({ trial: true });
    add({ trial: true }, { site: 'b.example' });
    add({ trial: true }, { timeMs: 60_000 });
    expect(counted.counts().map(({ site, minute, values, count }) => [site, minute, ...values, count])).toEqual([
      ['a.example', 0, 'true', null, 4],
      ['a.example', 0, null, 'x', 1],
      ['b.example', 0, 'true', null, 1],
      ['a.example', 60_000, 'true', null, 1],
    ]);
  });

  it('finds the newest time of each actor', () => {
    const newest = new NewestByActor('key:');
    const times = newest.start();
    for (const row of [rowAt(3), rowAt(2), rowAt(9, { actor: 'tag' }), rowAt(1, { actor: 'key:2' })])
      newest.add(times, row);
    expect([...times]).toEqual([
      ['key:1', 3],
      ['key:2', 1],
    ]);
  });
});
