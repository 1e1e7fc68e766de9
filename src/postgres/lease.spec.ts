import type { LeaseDatabase } from './lease.js';
import { Lease } from './lease.js';

const LEASE_MS = 10_000;

async function takenAt(startMs: number) {
  const now = jest.spyOn(performance, 'now').mockReturnValue(startMs);
  const database = {
    pool: {
      query: async () => ({ rows: [{ name: 'a lease', reached: '0', lineage: '1 00000001 1 1' }], rowCount: 1 }),
    },
    clock: { at: (ms: number) => ms },
  };
  const lease = (await Lease.take(database as unknown as LeaseDatabase, 'a lease', 0, LEASE_MS)) as Lease;
  return { lease, at: (ms: number) => now.mockReturnValue(startMs + ms) };
}

describe('a lease that is not renewed', () => {
  it('is held for half of its time, so that its holder stops well before another process can take it', async () => {
    const { lease, at } = await takenAt(5_000);
    at(LEASE_MS / 2 - 1);
    expect(lease.held).toBe(true);
    at(LEASE_MS / 2);
    expect(lease.held).toBe(false);
    expect(lease.isLost).toBe(false);
    await lease.release();
  });

  it('is not held after its release', async () => {
    const { lease } = await takenAt(5_000);
    await lease.release();
    expect([lease.held, lease.isLost]).toEqual([false, true]);
  });
});
