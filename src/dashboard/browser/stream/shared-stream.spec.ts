import { jest } from '@jest/globals';
import type { followEvents } from './event-stream.js';
import { SharedStream, type StreamReader } from './shared-stream.js';

type Listener = Parameters<typeof followEvents>[2];

/** The connections that were opened, and which of them is open. */
class Connections {
  readonly all: { readonly types: readonly string[] | undefined; readonly after: number }[] = [];
  listener: Listener | undefined;

  readonly follow: typeof followEvents = ({ types }, after, listener) => {
    this.all.push({ types, after });
    this.listener = listener;
    return () => {
      if (this.listener === listener) this.listener = undefined;
    };
  };

  send(...events: readonly (readonly [position: number, type: string])[]): void {
    const texts = events.map(([position, type]) => JSON.stringify({ position, type }));
    this.listener?.onEvents(texts, events.at(-1)?.[0] ?? 0);
  }
}

function open(isOn = true) {
  const connections = new Connections();
  const stream = new SharedStream('shop.example', isOn, () => {}, connections.follow);
  const read = (types: readonly string[] | undefined, position: number) => {
    const seen = { positions: [] as number[], skipped: [] as number[] };
    const reader: StreamReader = {
      types,
      position,
      onEvents: (events) => seen.positions.push(...events.map((event) => event.position)),
      onSkipped: (until) => seen.skipped.push(until),
      onState: () => {},
    };
    return { ...seen, stop: stream.add(reader) };
  };
  return { connections, stream, read };
}

const later = (ms = 0) => jest.advanceTimersByTimeAsync(ms);

describe('the stream that parts of a page share', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('is one connection, from the position of the part that is furthest behind', async () => {
    const { connections, read } = open();
    const one = read(['a', 'b'], 5);
    const other = read(['b', 'c'], 7);
    await later();
    expect(connections.all).toEqual([{ types: ['a', 'b', 'c'], after: 5 }]);
    connections.send([6, 'a'], [7, 'b'], [8, 'b'], [9, 'c']);
    await later(200);
    expect([one.positions, other.positions]).toEqual([
      [6, 7, 8],
      [8, 9],
    ]);
  });

  it('asks for all types if a part wants them, or if they are more than a request may have', async () => {
    const { connections, read } = open();
    read(['a'], 1);
    const all = read(undefined, 1);
    await later();
    expect(connections.all.at(-1)).toEqual({ types: undefined, after: 1 });
    all.stop();
    const many = Array.from({ length: 51 }, (_, index) => `type-${index}`);
    read(many, 1);
    await later(5_000);
    expect(connections.all).toHaveLength(1);
  });

  it('goes on where it is when a part with other types comes, and asks for less some time after it left', async () => {
    const { connections, read } = open();
    const one = read(['a'], 5);
    await later();
    connections.send([8, 'a']);
    await later(200);
    const other = read(['b'], 9);
    await later();
    expect(connections.all.at(-1)).toEqual({ types: ['a', 'b'], after: 8 });
    other.stop();
    await later(4_000);
    expect(connections.all).toHaveLength(2);
    await later(1_000);
    expect(connections.all.at(-1)).toEqual({ types: ['a'], after: 8 });
    connections.send([9, 'a']);
    await later(200);
    expect(one.positions).toEqual([8, 9]);
  });

  it('keeps its connection when one page with the same types follows another', async () => {
    const { connections, read } = open();
    read(['a'], 5);
    const page = read(['b'], 5);
    await later();
    page.stop();
    await later(1_000);
    read(['b'], 5);
    await later(60_000);
    expect(connections.all).toHaveLength(1);
  });

  it('begins again for a part that has less than was handed over', async () => {
    const { connections, read } = open();
    const one = read(['a'], 5);
    await later();
    connections.send([6, 'a'], [7, 'a']);
    await later(200);
    const other = read(['a'], 6);
    await later();
    expect(connections.all.at(-1)).toEqual({ types: ['a'], after: 6 });
    connections.send([7, 'a'], [8, 'a']);
    await later(200);
    expect([one.positions, other.positions]).toEqual([
      [6, 7, 8],
      [7, 8],
    ]);
  });

  it('has no connection while it is off or nothing reads, and then goes on without a gap', async () => {
    const { connections, stream, read } = open(false);
    const one = read(['a'], 5);
    await later();
    expect(connections.all).toEqual([]);
    stream.turn(true);
    connections.send([6, 'a']);
    stream.turn(false);
    expect([connections.listener, one.positions]).toEqual([undefined, [6]]);
    stream.turn(true);
    expect(connections.all.at(-1)).toEqual({ types: ['a'], after: 6 });
    one.stop();
    await later();
    expect(connections.listener).toBeUndefined();
  });

  it('goes on after the last sign of life when nothing happened', async () => {
    const { connections, stream, read } = open();
    read(['a'], 5);
    await later();
    connections.listener?.onEvents([], 900);
    await later(200);
    stream.turn(false);
    stream.turn(true);
    expect(connections.all.at(-1)?.after).toBe(900);
  });

  it('says up to where events were left out, to those that miss them', async () => {
    const { connections, read } = open();
    const [one, other] = [read(['a'], 5), read(['a'], 90)];
    await later();
    connections.listener?.onSkipped(90);
    expect([one.skipped, other.skipped]).toEqual([[90], []]);
  });

  it('goes on with the events of a database that was replaced by its backup', async () => {
    const { connections, read } = open();
    const [one, other] = [read(['a'], 900), read(['a'], 950)];
    await later();
    connections.listener?.onSkipped(3);
    expect([one.skipped, other.skipped]).toEqual([[3], [3]]);
    connections.send([4, 'a']);
    await later(200);
    expect([one.positions, other.positions]).toEqual([[4], [4]]);
  });

  it('says that events were dropped which arrived faster than they could be read, and hands over the others', async () => {
    const { connections, read } = open();
    const one = read(['a'], 0);
    await later();
    connections.send(...Array.from({ length: 6_000 }, (_, index) => [index + 1, 'a'] as const));
    await later(10_000);
    expect([one.positions.length, one.positions.at(-1), one.skipped.length]).toEqual([5_000, 6_000, 1]);
  });

  it('hands over hundreds of events in a second a few times', async () => {
    const { connections, stream } = open();
    let times = 0;
    stream.add({
      types: ['a'],
      position: 0,
      onEvents: () => {
        times += 1;
      },
      onSkipped: () => {},
      onState: () => {},
    });
    await later();
    for (let position = 1; position <= 500; position += 1) {
      connections.send([position, 'a']);
      await later(2);
    }
    expect(times).toBeLessThanOrEqual(5);
  });
});
