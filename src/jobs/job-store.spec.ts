import type { Job } from './job.js';
import { JobStore } from './job-store.js';

const CLAIM = { job: { id: 'one', request: { kind: 'export' } } as Job, holder: 'this process', requestedMs: 0 };

describe('the store of jobs', () => {
  let used: string[];
  let store: JobStore;
  beforeEach(() => {
    used = [];
    const poolNamed = (name: string) => ({
      query: async () => {
        used.push(name);
        return { rows: [{ held: true, cancel: false }], rowCount: 1 };
      },
    });
    const database = { pool: poolNamed('main'), reserved: poolNamed('reserved'), clock: { at: () => 0 } };
    store = new JobStore(database as unknown as ConstructorParameters<typeof JobStore>[0]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['takes', () => store.claim()],
    ['extends', () => store.renew(CLAIM, undefined, 0)],
    ['gives back', () => store.release(CLAIM, false)],
  ])('%s a lease on connections that no slow query holds', async (_, work) => {
    await work();
    expect(used).toEqual(['reserved']);
  });

  it('ends a job on connections that no slow query holds, and then deletes files on others', async () => {
    await store.finish(CLAIM, 'succeeded', {});
    expect(used).toEqual(['reserved', 'main']);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['stores a page', () => store.addPage(CLAIM, { bytes: new Uint8Array(), checkpoint: {}, progress: {} as never })],
    ['reads a file', () => store.chunkAt('one', 0)],
    ['lists', () => store.list('all', undefined, 100)],
  ])('%s on connections that a slow query may hold', async (_, work) => {
    await work();
    expect(used).toEqual(['main']);
  });
});
