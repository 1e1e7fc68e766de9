import { pauseUntil, retryOnce } from './retry-once.js';

const answer = (status: number, headers: Record<string, string> = {}) => ({
  response: { status, headers: new Headers(headers) },
});

async function statusesOf(...answers: ReturnType<typeof answer>[]) {
  const waits: number[] = [];
  const left = [...answers];
  const last = await retryOnce(
    async () => left.shift() as ReturnType<typeof answer>,
    async (ms) => void waits.push(ms),
  );
  return { status: last.response.status, waits, left: left.length };
}

describe('a request that is sent again', () => {
  it('waits as long as the answer says, and is sent again once', async () => {
    const busy = answer(429, { 'retry-after': '3' });
    expect(await statusesOf(busy, answer(200))).toEqual({ status: 200, waits: [3_000], left: 0 });
    expect(await statusesOf(busy, busy, answer(200))).toEqual({ status: 429, waits: [3_000], left: 1 });
  });

  it('is not sent again after other answers', async () => {
    expect(await statusesOf(answer(200), answer(200))).toEqual({ status: 200, waits: [], left: 1 });
    expect(await statusesOf(answer(429), answer(200))).toEqual({ status: 429, waits: [], left: 1 });
  });

  it('is not sent again once it is no longer needed', async () => {
    const controller = new AbortController();
    const paused = pauseUntil(controller.signal)(60_000);
    controller.abort();
    await expect(paused).rejects.toThrow(/abort/);
  });
});
