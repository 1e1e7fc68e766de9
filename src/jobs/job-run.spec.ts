import { JobRun } from './job-run.js';
import { type Claim, JobLost, type JobStore } from './job-store.js';

const LEASE_MS = 10_000;
const CLAIMED_MS = 5_000;
/** The database's clock is ahead of the monotonic one. */
const databaseMs = (monotonicMs: number) => 1_000_000 + monotonicMs;

function startRun() {
  const now = jest.spyOn(performance, 'now').mockReturnValue(CLAIMED_MS);
  const claim = { job: { id: 'a job', progress: null }, holder: 'one', requestedMs: CLAIMED_MS } as unknown as Claim;
  const store = { leaseMs: LEASE_MS } as unknown as JobStore;
  return { run: new JobRun(store, claim, databaseMs), at: (ms: number) => now.mockReturnValue(CLAIMED_MS + ms) };
}

describe('a run of a job whose lease is not renewed', () => {
  it('may write until half of the lease is over, by the clock of the database', async () => {
    const { run } = startRun();
    expect(run.notAfterMs).toBe(databaseMs(CLAIMED_MS) + LEASE_MS / 2);
    await run.close();
  });

  it('ends when half of the lease is over', async () => {
    const { run, at } = startRun();
    at(LEASE_MS / 2);
    expect(() => run.check()).not.toThrow();
    at(LEASE_MS / 2 + 1);
    expect(() => run.check()).toThrow(JobLost);
    expect(run.signal.aborted).toBe(true);
    await run.close();
  });
});
