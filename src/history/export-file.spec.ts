import { existsSync, lstatSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExportFile } from './export-file.js';

const folder = mkdtempSync(join(tmpdir(), 'cc-export-file-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
let out: string;
let victim: string;
beforeEach(() => {
  files += 1;
  out = join(folder, `${files}.ndjson`);
  victim = join(folder, `${files}.victim`);
  writeFileSync(victim, 'of another program');
});
const checkpoint = () => ({ position: 1, events: 1 });

describe('ExportFile', () => {
  it('does not write through a symbolic link at the name of the partial file', async () => {
    for (const name of [`${out}.part`, `${out}.part.json.new`]) symlinkSync(victim, name);
    const file = await ExportFile.open(out, 'options');
    await file.write(Buffer.from('one\n'), checkpoint);
    expect(lstatSync(`${out}.part`).isFile()).toBe(true);
    await file.finish();
    expect([readFileSync(out, 'utf8'), readFileSync(victim, 'utf8')]).toEqual(['one\n', 'of another program']);
    expect(lstatSync(out).mode & 0o777).toBe(0o600);
  });

  it('does not resume through a symbolic link, even with a checkpoint that fits', async () => {
    symlinkSync(victim, `${out}.part`);
    writeFileSync(`${out}.part.json`, JSON.stringify({ question: 'options', mark: { ...checkpoint(), bytes: 3 } }));
    const file = await ExportFile.open(out, 'options');
    expect(file.resumeFrom).toBeUndefined();
    await file.write(Buffer.from('one\n'));
    await file.finish();
    expect([readFileSync(out, 'utf8'), readFileSync(victim, 'utf8')]).toEqual(['one\n', 'of another program']);
  });

  it('resumes its own partial file at the checkpoint', async () => {
    const first = await ExportFile.open(out, 'options');
    await first.write(Buffer.from('one\n'), checkpoint);
    await first.write(Buffer.from('cut off'));
    await first.close();
    const second = await ExportFile.open(out, 'options');
    expect(second.resumeFrom).toMatchObject({ position: 1, bytes: 4 });
    await second.write(Buffer.from('two\n'));
    await second.finish();
    expect(readFileSync(out, 'utf8')).toBe('one\ntwo\n');
    expect(existsSync(`${out}.part.json`)).toBe(false);
  });
});
