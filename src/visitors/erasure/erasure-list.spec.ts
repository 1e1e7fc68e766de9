import {
  appendFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sealer } from '../../kernel/sealing.js';
import { ErasureList, type ListedErasure } from './erasure-list.js';

const [oldKey, newKey] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
const [JANE, JOHN]: ListedErasure[] = ['ab', 'cd'].map((byte) => ({ site: 'shop.example', subject: byte.repeat(32) }));

const folder = mkdtempSync(join(tmpdir(), 'cc-erasure-list-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
let path: string;
beforeEach(() => {
  files += 1;
  path = join(folder, `data-${files}`, 'erasures');
});

/** Writers one after the other, as the database's lock orders them. */
let last: Promise<unknown> = Promise.resolve();
function exclusive<Result>(work: () => Promise<Result>): Promise<Result> {
  const next = last.then(work, work);
  last = next;
  return next;
}
const listWith = (...keys: [Buffer, Buffer?]) => new ErasureList(path, new Sealer(...keys), exclusive);

describe('ErasureList', () => {
  it('creates its folder, for its owner only', async () => {
    const list = listWith(oldKey);
    expect(await list.isWritable()).toBe(true);
    expect(existsSync(join(path, '..'))).toBe(false);
    await list.add(JANE as ListedErasure);
    expect([statSync(join(path, '..')).mode & 0o777, statSync(path).mode & 0o777]).toEqual([0o700, 0o600]);
    expect(await list.read()).toEqual([JANE]);
  });

  it('is not writable below a file', async () => {
    await listWith(oldKey).add(JANE as ListedErasure);
    path = join(path, 'erasures');
    expect(await listWith(oldKey).isWritable()).toBe(false);
  });

  it('cuts off a line that a crash left incomplete, so that later lines can be read', async () => {
    const list = listWith(oldKey);
    await list.add(JANE as ListedErasure);
    appendFileSync(path, 'incompl');
    expect(await list.read()).toEqual([JANE]);
    await list.add(JOHN as ListedErasure);
    expect(await list.read()).toEqual([JANE, JOHN]);
  });

  it('has each person once, with the latest position, unless an erasure began after it', async () => {
    const list = listWith(oldKey);
    const jane = JANE as ListedErasure;
    for (const position of [undefined, undefined, 9, 7])
      await list.add({ ...jane, ...(position !== undefined && { position }) });
    await list.add(JOHN as ListedErasure);
    expect(await list.read()).toEqual([{ ...jane, position: 9 }, JOHN]);
    await list.add(jane);
    expect(await list.read()).toEqual([JANE, JOHN]);
  });

  it('tells who of a site is on it at each moment, as far as it changes', async () => {
    const list = listWith(oldKey);
    const current = list.subjectsOf('shop.example');
    expect([...(await current())]).toEqual([]);
    await list.add(JANE as ListedErasure);
    await list.add({ site: 'other.example', subject: 'ef'.repeat(32) });
    const read = await current();
    expect([...read]).toEqual([JANE?.subject]);
    expect(await current()).toBe(read);
    await list.add(JOHN as ListedErasure);
    expect([...(await current())]).toEqual([JANE?.subject, JOHN?.subject]);
  });

  it('reports a list that cannot be read, also later', async () => {
    const list = listWith(oldKey);
    const current = list.subjectsOf('shop.example');
    await current();
    await list.add(JANE as ListedErasure);
    rmSync(path);
    mkdirSync(path);
    await expect(current()).rejects.toThrow('Check ERASURE_LIST');
  });

  describe('after SECRET_KEY was changed', () => {
    const both = () => listWith(newKey, oldKey);

    it('is sealed again, after which the previous key is not needed', async () => {
      await listWith(oldKey).add(JANE as ListedErasure);
      await both().add(JOHN as ListedErasure);
      expect(await both().countByKey()).toEqual({ current: 1, previous: 1, unreadable: [] });
      expect(await both().reencrypt()).toBe(1);
      expect(await both().countByKey()).toEqual({ current: 2, previous: 0, unreadable: [] });
      expect(await listWith(newKey).read()).toEqual([JANE, JOHN]);
      await expect(listWith(oldKey).read()).rejects.toThrow(/SECRET_KEY_PREVIOUS/);
      expect(statSync(path).mode & 0o777).toBe(0o600);
      expect(readdirSync(join(path, '..'))).toEqual(['erasures']);
      expect(await both().reencrypt()).toBe(0);
    });

    it('keeps a line that neither key opens, and names it', async () => {
      await listWith(Buffer.alloc(32, 3)).add(JANE as ListedErasure);
      await listWith(oldKey).add(JOHN as ListedErasure);
      const [foreign] = readFileSync(path, 'utf8').split('\n');
      expect(await both().reencrypt()).toBe(1);
      expect(readFileSync(path, 'utf8').split('\n')[0]).toBe(foreign);
      expect((await both().countByKey()).unreadable).toEqual([`line 1 of ${path}`]);
    });

    it('loses no erasure that is listed meanwhile', async () => {
      await listWith(oldKey).add(JANE as ListedErasure);
      const added = Array.from({ length: 20 }, (_, at) => ({ site: 'shop.example', subject: String(at).repeat(64) }));
      await Promise.all(added.flatMap((erasure) => [both().add(erasure), both().reencrypt()]));
      expect(await listWith(newKey).read()).toEqual([JANE, ...added]);
    });
  });

  it('has nothing to seal before the first erasure', async () => {
    expect(await listWith(newKey, oldKey).reencrypt()).toBe(0);
    expect(existsSync(path)).toBe(false);
  });
});
