import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { DayFolder } from './day-folder.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'cc-day-folder-'));
});

afterEach(() => rmSync(folder, { recursive: true }));

const LOG = { id: 'log', head: 100 };
const open = (options = 'options', log = LOG) => DayFolder.open(folder, 'parquet', options, log);

describe('a folder of days', () => {
  it('continues after what is recorded, in a folder per day that only the owner can read', async () => {
    const first = await open();
    expect(first.position).toBe(0);
    const part = await first.nextPart('2026-11-17', 40);
    expect(part).toEqual({ file: join(folder, 'day=2026-11-17', 'part-000000000001-000000000040.parquet'), last: 40 });
    expect(statSync(join(folder, 'day=2026-11-17')).mode & 0o777).toBe(0o700);
    await first.advance(40);
    const second = await open();
    expect(second.position).toBe(40);
    expect((await second.nextPart('2026-11-18', 50)).file).toMatch(
      /day=2026-11-18\/part-000000000041-000000000050\.parquet$/,
    );
    expect(readdirSync(folder).sort()).toEqual(['_export.json', 'day=2026-11-17', 'day=2026-11-18']);
  });

  it('does not write a part again that a killed process finished and did not record', async () => {
    const killed = await open();
    await killed.advance(7);
    writeFileSync((await killed.nextPart('2026-11-17', 40)).file, '');
    expect((await open()).position).toBe(40);
  });

  it('resumes an interrupted part with the range that it was started with', async () => {
    const interrupted = await open();
    const { file } = await interrupted.nextPart('2026-11-17', 40);
    writeFileSync(`${file}.part.json`, '{}');
    const later = await open();
    expect(later.position).toBe(0);
    expect(await later.nextPart('2026-11-17', 55)).toEqual({ file, last: 40 });
    await later.advance(40);
    expect(await later.nextPart('2026-11-17', 55)).toMatchObject({ last: 55 });
  });

  it('removes what interrupted runs left of events that a later one has exported', async () => {
    const interrupted = await open();
    const { file: left } = await interrupted.nextPart('2026-11-17', 60);
    for (const suffix of ['.part', '.part.json', '.part.json.new']) writeFileSync(`${left}${suffix}`, '');
    const { file: done } = await interrupted.nextPart('2026-11-17', 40);
    writeFileSync(done, '');
    await interrupted.advance(40);
    const { file: next } = await interrupted.nextPart('2026-11-17', 60);
    for (const suffix of ['.part', '.part.json']) writeFileSync(`${next}${suffix}`, '');
    await open();
    expect(readdirSync(join(folder, 'day=2026-11-17')).sort()).toEqual(
      [done, `${next}.part`, `${next}.part.json`].map((path) => basename(path)).sort(),
    );
  });

  it('removes what a killed run left without its progress when a later one exports the same events', async () => {
    const { file: left } = await (await open()).nextPart('2026-11-17', 40);
    writeFileSync(`${left}.part`, '');
    const later = await open();
    const { file } = await later.nextPart('2026-11-17', 55);
    expect(file).not.toBe(left);
    expect(readdirSync(join(folder, 'day=2026-11-17'))).toEqual([]);
  });

  it('removes an interrupted part that reaches further than the export does now', async () => {
    const { file: left } = await (await open()).nextPart('2026-11-17', 60);
    for (const suffix of ['.part', '.part.json']) writeFileSync(`${left}${suffix}`, '');
    await (await open()).nextPart('2026-11-17', 40);
    expect(readdirSync(join(folder, 'day=2026-11-17'))).toEqual([]);
  });

  it('refuses a folder with an export of other options', async () => {
    await (await open()).advance(1);
    await expect(open('others')).rejects.toThrow(/has an export with other options\. Run it with those again/);
  });

  it('refuses a folder of another log, or one that has come further than the log', async () => {
    await (await open()).advance(40);
    await expect(open('options', { id: 'another', head: 100 })).rejects.toThrow(
      /has an export of another log\. Export from its database again, or give another folder\.$/,
    );
    const beyond = /export up to position 40, and the log ends at 39: .+ Give another folder\.$/;
    await expect(open('options', { id: 'log', head: 39 })).rejects.toThrow(beyond);
    rmSync(join(folder, '_export.json'));
    mkdirSync(join(folder, 'day=2026-11-17'));
    writeFileSync(join(folder, 'day=2026-11-17', 'part-000000000001-000000000040.parquet'), '');
    await expect(open('options', { id: 'another', head: 39 })).rejects.toThrow(beyond);
    expect((await open('options', { id: 'log', head: 40 })).position).toBe(40);
  });

  it.each(['', '{"options":', '{"options":"options","position":1}', '{"options":"options","log":"log"}', 'null'])(
    'names a damaged file of the progress: %s',
    async (text) => {
      writeFileSync(join(folder, '_export.json'), text);
      await expect(open()).rejects.toThrow(/_export\.json is damaged\. Remove it and run the same command again/);
    },
  );

  it('continues after the newest part without the saved progress', async () => {
    mkdirSync(join(folder, 'day=2026-11-17'));
    writeFileSync(join(folder, 'day=2026-11-17', 'part-000000000001-000000000040.parquet'), '');
    expect((await open()).position).toBe(40);
  });

  it('refuses a file', async () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    await expect(DayFolder.open(file, 'parquet', '', LOG)).rejects.toThrow(
      /is a file\. With --partition-by give a folder/,
    );
  });
});
