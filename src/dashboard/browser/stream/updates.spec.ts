import { jest } from '@jest/globals';
import { Updates } from './updates.js';

describe('updates of pages', () => {
  beforeEach(() => {
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it('are done soon, and at most every two seconds however often they are asked for', async () => {
    const updates = new Updates(true);
    const atMs: number[] = [];
    const beganMs = performance.now();
    const work = () => atMs.push(Math.round(performance.now() - beganMs));
    for (let asked = 0; asked < 1_000; asked += 1) {
      updates.ask(work);
      await jest.advanceTimersByTimeAsync(10);
    }
    expect(atMs).toEqual([500, 2_500, 4_500, 6_500, 8_500]);
  });

  it('are done together, each once', async () => {
    const updates = new Updates(true);
    const done: string[] = [];
    const [one, other, left] = ['one', 'other', 'left'].map((name) => () => done.push(name));
    for (const work of [one, other, one, left]) updates.ask(work as () => void);
    updates.cancel(left as () => void);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(done).toEqual(['one', 'other']);
  });

  it('wait while nobody looks, and then are done once', async () => {
    const updates = new Updates(true);
    let done = 0;
    const work = () => {
      done += 1;
    };
    updates.ask(work);
    updates.turn(false);
    await jest.advanceTimersByTimeAsync(60_000);
    updates.ask(work);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(done).toBe(0);
    updates.turn(true);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(done).toBe(1);
  });

  it('may ask for themselves again', async () => {
    const updates = new Updates(true);
    let done = 0;
    const work = () => {
      done += 1;
      if (done < 3) updates.ask(work);
    };
    updates.ask(work);
    await jest.advanceTimersByTimeAsync(4_500);
    expect(done).toBe(3);
  });
});
