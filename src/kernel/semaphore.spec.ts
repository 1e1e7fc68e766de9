import { jest } from '@jest/globals';
import { Semaphore, TooBusy } from './semaphore.js';

/** Work that ends when it is told to. */
function work() {
  let end: (error?: Error) => void = () => {};
  const done = new Promise<string>((resolve, reject) => {
    end = (error) => (error ? reject(error) : resolve('done'));
  });
  return { end, run: jest.fn(() => done) };
}

describe('a semaphore', () => {
  it('starts the next piece of work when one has ended or failed', async () => {
    const semaphore = new Semaphore(2, 60_000);
    const all = [work(), work(), work(), work()] as const;
    const results = all.map(({ run }) => semaphore.run(run));
    expect(all.map(({ run }) => run.mock.calls.length)).toEqual([1, 1, 0, 0]);
    all[1].end(new Error('failed'));
    await expect(results[1]).rejects.toThrow('failed');
    expect(all.map(({ run }) => run.mock.calls.length)).toEqual([1, 1, 1, 0]);
    for (const { end } of all) end();
    expect(await Promise.all([results[0], results[2], results[3]])).toEqual(['done', 'done', 'done']);
  });

  it('refuses work whose turn does not come in time, and then starts others', async () => {
    const semaphore = new Semaphore(1, 1);
    const [first, late, next] = [work(), work(), work()];
    const running = semaphore.run(first.run);
    await expect(semaphore.run(late.run)).rejects.toThrow(TooBusy);
    first.end();
    await running;
    next.end();
    expect(await semaphore.run(next.run)).toBe('done');
    expect(late.run).not.toHaveBeenCalled();
  });
});
