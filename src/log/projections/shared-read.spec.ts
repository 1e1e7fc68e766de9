import { setImmediate as nextTurn } from 'node:timers/promises';
import { sharedRead } from './shared-read.js';

describe('a shared read', () => {
  let reads = 0;
  beforeEach(() => {
    reads = 0;
  });
  const read = sharedRead(async () => ++reads);

  it('is one read for all calls of a turn', async () => {
    expect(await Promise.all([read(), read(), read()])).toEqual([1, 1, 1]);
  });

  it('begins after every call that it answers', async () => {
    const first = read();
    await nextTurn();
    // The first read has begun: its answer may be older than this call.
    expect(await read()).toBe(2);
    expect(await first).toBe(1);
  });

  it('fails for all calls of a turn, and is tried again by the next call', async () => {
    let isBroken = true;
    const failing = sharedRead(async () => {
      if (isBroken) throw new Error('no connection');
      return 'read';
    });
    const both = await Promise.allSettled([failing(), failing()]);
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    isBroken = false;
    expect(await failing()).toBe('read');
  });
});
