import { RequestFailed, toProblem } from './problem.js';
import { pauseUntil, retryOnce } from './retry-once.js';

const busy = new RequestFailed(toProblem(429, undefined), 3);
const refused = new RequestFailed(toProblem(429, undefined));

describe('a request that is sent again', () => {
  it.each<[string, readonly (string | Error)[], object]>([
    ['again after the time that the answer says', [busy, 'data'], { end: 'data', waits: [3_000], left: 0 }],
    ['again no more than once', [busy, busy, 'data'], { end: busy, waits: [3_000], left: 1 }],
    ['once if it is answered', ['data', 'data'], { end: 'data', waits: [], left: 1 }],
    ['once if the refusal names no time', [refused, 'data'], { end: refused, waits: [], left: 1 }],
  ])('is sent %s', async (_, answers, expected) => {
    const waits: number[] = [];
    const left = [...answers];
    const request = async () => {
      const answer = left.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    };
    const end = await retryOnce(request, async (ms) => void waits.push(ms)).catch((error: unknown) => error);
    expect({ end, waits, left: left.length }).toEqual(expected);
  });

  it('is not sent again once it is no longer needed', async () => {
    const controller = new AbortController();
    const paused = pauseUntil(controller.signal)(60_000);
    controller.abort();
    await expect(paused).rejects.toThrow(/abort/);
  });
});
