import type { DatabaseClock } from '../postgres/database-clock.js';
import type { Job } from './job.js';
import { JobRunner } from './job-runner.js';
import type { Claim, JobStore } from './job-store.js';

const JOB = { id: '01980000-0000-7000-8000-000000000000', request: { kind: 'export' }, bytes: 0, progress: null };
const QUIET = { warn: () => {}, error: () => {} };

/** What is stored when a run ends with the error. */
async function endWith(error: Error): Promise<unknown[]> {
  const claims: Claim[] = [{ job: JOB as unknown as Job, holder: 'one', requestedMs: performance.now() }];
  let resolve: (stored: unknown[]) => void = () => {};
  const promise = new Promise<unknown[]>((resolved) => {
    resolve = resolved;
  });
  const store = {
    claim: async () => claims.pop(),
    release: async (_: Claim, reason: string | false) => resolve(['released', reason]),
    finish: async (_: Claim, state: string) => resolve([state]),
  };
  const clock = { at: () => 0 } as unknown as DatabaseClock;
  const runner = new JobRunner(store as unknown as JobStore, clock, () => Promise.reject(error), QUIET);
  runner.poll();
  const stored = await promise;
  await runner.stop();
  return stored;
}

describe('a job', () => {
  it.each([
    ['the connection ends', 'Connection terminated unexpectedly', undefined],
    ['the server stops', 'terminating connection', '57P01'],
    ['the server is unreachable', 'connect ECONNREFUSED', 'ECONNREFUSED'],
  ])('is given back when %s, which does not count against it', async (_, message, code) => {
    expect(await endWith(Object.assign(new Error(message), code && { code }))).toEqual(['released', false]);
  });

  it.each([
    ['an error', 'x is not a function', undefined, 'An error in the service ended it, which is in its log.'],
    ['a statement that takes too long', 'canceling statement due to …', '57014', 'The database took too long.'],
    [
      'a conflict with recovery, of a standby',
      'canceling statement due to conflict with recovery',
      '40001',
      'The database cancelled a query of it, as a standby does that has to go on replaying.',
    ],
    ['an answer that takes too long', 'Query read timeout', undefined, 'The database took too long.'],
  ])('is not tried for ever when it ends with %s, and says so', async (_, message, code, reason) => {
    expect(await endWith(Object.assign(new Error(message), code && { code }))).toEqual(['released', reason]);
  });
});
