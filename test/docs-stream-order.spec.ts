import fc from 'fast-check';
import { StreamOrder, type WaitingStream } from '../docs/stream-order.mjs';

interface Ordered {
  readonly id: string;
  readonly stream: string;
  readonly version: number;
}

const event = (stream: string, version: number): Ordered => ({ id: `${stream} ${version}`, stream, version });
const versions = (events: readonly Ordered[]) => events.map(({ version }) => version);

describe('StreamOrder', () => {
  it('delivers each event once by id and each stream in order, however the partitions of the cells interleave', () => {
    const arrivals = fc
      .array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.integer({ min: 1, max: 3 })), { maxLength: 30 })
      .chain((moves) => {
        // Each part of a stream is stored by one cell; some are published twice, as after a new prefix.
        const counts = new Map<string, number>();
        const parts = moves.map(([stream, length]) => {
          const from = counts.get(stream) ?? 0;
          counts.set(stream, from + length);
          return Array.from({ length }, (_, at) => event(stream, from + at + 1));
        });
        return fc.shuffledSubarray([...parts, ...parts.slice(0, 3)], {
          minLength: parts.length + Math.min(3, parts.length),
        });
      });
    fc.assert(
      fc.property(arrivals, (parts) => {
        const order = new StreamOrder();
        const arrived = parts.flat();
        const delivered = arrived.flatMap((each) => order.add(each));
        expect(delivered.map(({ id }) => id).sort()).toEqual([...new Set(arrived.map(({ id }) => id))].sort());
        for (const stream of ['a', 'b', 'c']) {
          const own = versions(delivered.filter((each) => each.stream === stream));
          expect(own).toEqual(own.map((_, at) => at + 1));
        }
        expect(order.waiting).toEqual([]);
      }),
    );
  });

  it('gives up waiting for one gap at a time, and delivers what arrives late', () => {
    const order = new StreamOrder();
    for (const version of [4, 3, 7]) expect(order.add(event('a', version))).toEqual([]);
    const release = () => versions(order.release(order.waiting[0] as WaitingStream<Ordered>));
    expect(release()).toEqual([3, 4]);
    expect(order.waiting).toHaveLength(1);
    expect(release()).toEqual([7]);
    expect(order.waiting).toEqual([]);
    expect(versions(order.add(event('a', 2)))).toEqual([2]);
    expect(order.add(event('a', 2))).toEqual([]);
    expect(versions(order.add(event('a', 8)))).toEqual([8]);
  });

  it('delivers another event of the same version: after a failover Kafka also has the lost one', () => {
    const order = new StreamOrder();
    order.add(event('a', 1));
    expect(order.add({ ...event('a', 1), id: 'after the failover' })).toHaveLength(1);
  });

  it('remembers a limited number of streams', () => {
    const order = new StreamOrder(2);
    for (const stream of ['a', 'b', 'c']) order.add(event(stream, 1));
    expect(versions(order.add(event('c', 2)))).toEqual([2]);
    expect(order.add(event('a', 2))).toEqual([]);
    expect(order.waiting).toHaveLength(1);
  });
});
