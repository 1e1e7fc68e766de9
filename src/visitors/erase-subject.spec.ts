import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Sealer } from '../kernel/sealing.js';
import { EraseSubject, RerunErasures } from './erasure/erase-subject.command.js';
import { EraseSubjectHandler, RerunErasuresHandler } from './erasure/erase-subject.handler.js';
import type { Erasure } from './erasure/erasure.js';
import { ErasureList } from './erasure/erasure-list.js';

const SITE = 'shop.example';
const [JANE, JOHN] = ['ab'.repeat(32), 'cd'.repeat(32)] as const;

const folder = mkdtempSync(join(tmpdir(), 'cc-erase-subject-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newList = (path = join(folder, String(++files))) =>
  new ErasureList(path, new Sealer(Buffer.alloc(32)), (work) => work());

/** Records calls instead of deleting rows. */
function recordingErasure(onErase: () => Promise<void> = async () => {}) {
  const calls: unknown[][] = [];
  const erase = async (...call: unknown[]) => {
    await onErase();
    calls.push(call);
    return { events: 3, identifiers: 2, claims: 1, position: 100 + calls.length };
  };
  return { calls, erasure: { erase } as unknown as Erasure };
}

const ANY_KEY = { recordKey: async () => {} };

describe('EraseSubject', () => {
  it('lists the person before it erases', async () => {
    const list = newList();
    let listed: unknown;
    const { calls, erasure } = recordingErasure(async () => {
      listed = await list.read();
    });
    const erased = await new EraseSubjectHandler(erasure, list, ANY_KEY).execute(new EraseSubject('cli', SITE, JANE));
    expect(erased).toEqual({ events: 3, identifiers: 2, claims: 1 });
    expect(listed).toEqual([{ site: SITE, subject: JANE }]);
    expect(calls).toEqual([['cli', SITE, JANE, undefined, undefined, []]]);
  });

  it('lists every subject of the person', async () => {
    const list = newList();
    const { calls, erasure } = recordingErasure();
    const handler = new EraseSubjectHandler(erasure, list, ANY_KEY);
    await handler.execute(new EraseSubject('cli', SITE, JANE, undefined, [JOHN]));
    expect(calls).toEqual([['cli', SITE, JANE, undefined, undefined, [JOHN]]]);
    const listed = [JANE, JOHN].map((subject) => ({ site: SITE, subject, position: 101 }));
    expect(await list.read()).toEqual(listed);
  });

  it('lists the position of the erasure afterwards', async () => {
    const list = newList();
    const { erasure } = recordingErasure();
    const handler = new EraseSubjectHandler(erasure, list, ANY_KEY);
    await handler.execute(new EraseSubject('cli', SITE, JANE));
    expect(await list.read()).toEqual([{ site: SITE, subject: JANE, position: 101 }]);
    await handler.execute(new EraseSubject('cli', SITE, JANE));
    expect(await list.read()).toEqual([{ site: SITE, subject: JANE, position: 102 }]);
  });

  it('erases nothing when the list cannot be written', async () => {
    const { calls, erasure } = recordingErasure();
    writeFileSync(join(folder, 'file'), '');
    const handler = new EraseSubjectHandler(erasure, newList(join(folder, 'file', 'list')), ANY_KEY);
    await expect(handler.execute(new EraseSubject('cli', SITE, JANE))).rejects.toThrow(
      /cannot be written \((?:ENOTDIR|EEXIST)\)\. Nothing was erased\. Set ERASURE_LIST to a writable file\.$/,
    );
    expect(calls).toEqual([]);
  });
});

describe('RerunErasures', () => {
  it('repeats each listed erasure once and adds up the counts', async () => {
    const list = newList();
    for (const subject of [JANE, JOHN]) await list.add({ site: SITE, subject });
    await list.add({ site: SITE, subject: JANE, position: 7 });
    const { calls, erasure } = recordingErasure();
    const progress: number[][] = [];
    const handler = new RerunErasuresHandler(erasure, list, (...step) => progress.push(step));
    expect(await handler.execute(new RerunErasures('cli'))).toEqual({
      people: 2,
      events: 6,
      identifiers: 4,
      claims: 2,
    });
    // Up to the moment of the erasure, which is unknown if it did not end.
    expect(calls).toEqual([
      ['cli', SITE, JANE, 7],
      ['cli', SITE, JOHN, 'restored'],
    ]);
    expect(progress).toEqual([
      [1, 2],
      [2, 2],
    ]);
    expect(await list.read()).toHaveLength(2);
  });

  it('does nothing with an empty list', async () => {
    const { calls, erasure } = recordingErasure();
    const handler = new RerunErasuresHandler(erasure, newList());
    expect(await handler.execute(new RerunErasures('cli'))).toMatchObject({ people: 0, events: 0 });
    expect(calls).toEqual([]);
  });
});
