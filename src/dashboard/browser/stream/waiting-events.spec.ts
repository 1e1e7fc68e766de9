import { WaitingEvents } from './waiting-events.js';

const texts = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => JSON.stringify({ position: from + index }));
const positionsOf = (events: readonly { readonly position: number }[]) => events.map(({ position }) => position);

describe('waiting events', () => {
  it('are taken in order', () => {
    const waiting = new WaitingEvents(() => 0);
    waiting.add(texts(1, 2));
    waiting.add(texts(3, 1));
    expect(positionsOf(waiting.take().events)).toEqual([1, 2, 3]);
    expect(waiting.take()).toEqual({ events: [], dropped: 0 });
  });

  it('wait for the next turn when the time is over', () => {
    let nowMs = 0;
    // Each event takes nine milliseconds.
    const waiting = new WaitingEvents(() => (nowMs += 9));
    waiting.add(texts(1, 5));
    expect(positionsOf(waiting.take().events)).toEqual([1, 2, 3]);
    // Where the next connection begins, if this one ends now.
    expect(waiting.position).toBe(3);
    expect(positionsOf(waiting.take().events)).toEqual([4, 5]);
    waiting.take();
    expect(waiting.position).toBe(5);
  });

  it('are passed over if they cannot be read', () => {
    const waiting = new WaitingEvents(() => 0);
    waiting.add(['{', ...texts(2, 1)]);
    expect(() => waiting.take()).toThrow(SyntaxError);
    expect(positionsOf(waiting.take().events)).toEqual([2]);
  });

  it('are dropped when too many wait, the oldest first, and that is told once', () => {
    const waiting = new WaitingEvents(() => 0);
    waiting.add(texts(1, 5_000));
    waiting.add(texts(5_001, 7));
    const { events, dropped } = waiting.take();
    expect([events[0]?.position, events.length, dropped]).toEqual([8, 5_000, 7]);
    expect(waiting.take().dropped).toBe(0);
  });
});
