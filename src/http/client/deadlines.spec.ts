import { setTimeout as sleep } from 'node:timers/promises';
import { Deadlines } from './deadlines.js';

describe('Deadlines', () => {
  const dueIn = (ms: number) => {
    const startedMs = performance.now();
    const item = { dueMs: startedMs + ms, place: 0, tookMs: undefined as number | undefined, expire: () => {} };
    item.expire = () => {
      item.tookMs = performance.now() - startedMs;
    };
    return item;
  };

  it('expires what is due, never early, and nothing that was taken back', async () => {
    const deadlines = new Deadlines();
    const items = [10, 30, 60, 110].map(dueIn);
    const takenBack = dueIn(40);
    for (const item of [...items, takenBack]) deadlines.add(item);
    deadlines.delete(takenBack);
    await sleep(300);
    for (const [index, ms] of [10, 30, 60, 110].entries()) expect(items[index]?.tookMs).toBeGreaterThanOrEqual(ms);
    expect(takenBack.tookMs).toBeUndefined();
  });

  it('keeps its place in the row whatever others do', async () => {
    const deadlines = new Deadlines();
    const items = Array.from({ length: 300 }, (_, index) => dueIn(20 + (index % 7) * 20));
    for (const item of items) deadlines.add(item);
    const takenBack = items.filter((_, index) => index % 3 === 0);
    for (const item of takenBack) deadlines.delete(item);
    for (const item of takenBack) deadlines.delete(item);
    await sleep(350);
    expect(items.map(({ tookMs }) => tookMs !== undefined)).toEqual(items.map((_, index) => index % 3 !== 0));
  });

  it('takes it well when one that expires takes others back, or adds some', async () => {
    const deadlines = new Deadlines();
    const items = Array.from({ length: 20 }, () => dueIn(30));
    const added = dueIn(60);
    const first = dueIn(30);
    first.expire = () => {
      for (const item of items) deadlines.delete(item);
      deadlines.add(added);
    };
    for (const item of [...items, first]) deadlines.add(item);
    await sleep(250);
    expect(items.every(({ tookMs }) => tookMs === undefined)).toBe(true);
    expect(added.tookMs).toBeDefined();
  });

  it('reads what arrived while the process was held up before it judges anybody late', async () => {
    const deadlines = new Deadlines();
    const item = dueIn(30);
    deadlines.add(item);
    setImmediate(() => {
      const untilMs = performance.now() + 100;
      while (performance.now() < untilMs);
      // As a socket would: after the timers, before the wheel turns.
      setImmediate(() => deadlines.delete(item));
    });
    await sleep(250);
    expect(item.tookMs).toBeUndefined();
  });

  it('goes on after it had nothing to do', async () => {
    const deadlines = new Deadlines();
    const first = dueIn(10);
    deadlines.add(first);
    await sleep(150);
    const second = dueIn(10);
    deadlines.add(second);
    await sleep(150);
    expect([first.tookMs, second.tookMs]).toEqual([expect.any(Number), expect.any(Number)]);
  });
});
