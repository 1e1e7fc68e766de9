import { Deadlines } from './deadlines.js';

describe('Deadlines', () => {
  const dueIn = (ms: number) => {
    const startedMs = performance.now();
    const item = {
      dueMs: startedMs + ms,
      index: 0,
      tookMs: undefined as number | undefined,
      expire: () => {},
      /** Resolves after the check that expired the item, which also expired every item that was due earlier. */
      expired: Promise.resolve(),
    };
    item.expired = new Promise((resolve) => {
      item.expire = () => {
        item.tookMs = performance.now() - startedMs;
        resolve();
      };
    });
    return item;
  };

  it('expires items when they are due, never early, and no deleted item', async () => {
    const deadlines = new Deadlines();
    const items = [10, 30, 60, 110].map(dueIn);
    const deleted = dueIn(40);
    for (const item of [...items, deleted]) deadlines.add(item);
    deadlines.delete(deleted);
    await Promise.all(items.map(({ expired }) => expired));
    for (const [index, ms] of [10, 30, 60, 110].entries()) expect(items[index]?.tookMs).toBeGreaterThanOrEqual(ms);
    expect(deleted.tookMs).toBeUndefined();
  });

  it('expires exactly the items that were not deleted, also if one is deleted twice', async () => {
    const deadlines = new Deadlines();
    const items = Array.from({ length: 300 }, (_, index) => dueIn(20 + (index % 7) * 20));
    for (const item of items) deadlines.add(item);
    const deleted = items.filter((_, index) => index % 3 === 0);
    for (const item of deleted) deadlines.delete(item);
    for (const item of deleted) deadlines.delete(item);
    const remaining = items.filter((item) => !deleted.includes(item));
    await Promise.all(remaining.map(({ expired }) => expired));
    expect(items.map(({ tookMs }) => tookMs !== undefined)).toEqual(items.map((_, index) => index % 3 !== 0));
  });

  it('allows an expiring item to delete and add others', async () => {
    const deadlines = new Deadlines();
    // Due before the others, so that no check can expire one of them alone.
    const first = dueIn(30);
    const items = Array.from({ length: 20 }, () => dueIn(30));
    const added = dueIn(60);
    first.expire = () => {
      for (const item of items) deadlines.delete(item);
      deadlines.add(added);
    };
    for (const item of [...items, first]) deadlines.add(item);
    await added.expired;
    expect(items.every(({ tookMs }) => tookMs === undefined)).toBe(true);
    expect(added.tookMs).toBeDefined();
  });

  it('processes responses that arrived while the event loop was blocked before it expires items', async () => {
    const deadlines = new Deadlines();
    const item = dueIn(30);
    const next = dueIn(60);
    deadlines.add(item);
    deadlines.add(next);
    setImmediate(() => {
      const untilMs = performance.now() + 100;
      while (performance.now() < untilMs);
      // Like a socket event: after the timers, before the deadlines are checked.
      setImmediate(() => deadlines.delete(item));
    });
    await next.expired;
    expect(item.tookMs).toBeUndefined();
  });

  it('expires items that are added after it was empty', async () => {
    const deadlines = new Deadlines();
    const first = dueIn(10);
    deadlines.add(first);
    await first.expired;
    const second = dueIn(10);
    deadlines.add(second);
    await second.expired;
    expect([first.tookMs, second.tookMs]).toEqual([expect.any(Number), expect.any(Number)]);
  });
});
