import {
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
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
const progress = () => ({ position: 1, events: 1 });

describe('ExportFile', () => {
  it('does not write through a symbolic link at the name of the partial file', async () => {
    for (const name of [`${out}.part`, `${out}.part.json.new`]) symlinkSync(victim, name);
    const file = await ExportFile.open(out, 'options');
    await file.write(Buffer.from('one\n'), progress);
    expect(lstatSync(`${out}.part`).isFile()).toBe(true);
    await file.finish();
    expect([readFileSync(out, 'utf8'), readFileSync(victim, 'utf8')]).toEqual(['one\n', 'of another program']);
    expect(lstatSync(out).mode & 0o777).toBe(0o600);
  });

  it('does not resume through a symbolic link, even with progress that fits', async () => {
    symlinkSync(victim, `${out}.part`);
    writeFileSync(`${out}.part.json`, JSON.stringify({ question: 'options', mark: { ...progress(), bytes: 3 } }));
    const file = await ExportFile.open(out, 'options');
    expect(file.resumeFrom).toBeUndefined();
    await file.write(Buffer.from('one\n'));
    await file.finish();
    expect([readFileSync(out, 'utf8'), readFileSync(victim, 'utf8')]).toEqual(['one\n', 'of another program']);
  });

  it('resumes its own partial file at the saved progress', async () => {
    const first = await ExportFile.open(out, 'options');
    await first.write(Buffer.from('one\n'), progress);
    await first.write(Buffer.from('cut off'));
    await first.close();
    const second = await ExportFile.open(out, 'options');
    expect(second.resumeFrom).toMatchObject({ position: 1, bytes: 4 });
    await second.write(Buffer.from('two\n'));
    await second.finish();
    expect(readFileSync(out, 'utf8')).toBe('one\ntwo\n');
    expect(existsSync(`${out}.part.json`)).toBe(false);
  });

  it('leaves no file if it is closed before its progress is saved, and one to resume after it', async () => {
    const left = () => readdirSync(folder).filter((name) => name.startsWith(`${files}.ndjson`));
    const first = await ExportFile.open(out, 'options');
    await first.write(Buffer.from('one\n'));
    await first.close();
    expect(left()).toEqual([]);
    const second = await ExportFile.open(out, 'options');
    await second.write(Buffer.from('one\n'), progress);
    await second.close();
    expect(left()).toEqual([`${files}.ndjson.part`, `${files}.ndjson.part.json`]);
  });

  it('removes the saved progress that a killed process was writing when it is complete', async () => {
    const file = await ExportFile.open(out, 'options');
    writeFileSync(`${out}.part.json.new`, '');
    await file.write(Buffer.from('one\n'));
    await file.finish();
    expect(readdirSync(folder).filter((name) => name.startsWith(`${files}.ndjson`))).toEqual([`${files}.ndjson`]);
  });

  it.each(['', '{"question":"options"', '{"question":"options","mark":{"position":1}}', 'null'])(
    'names a damaged file of the progress and what to do: %s',
    async (text) => {
      writeFileSync(`${out}.part`, 'one\n');
      writeFileSync(`${out}.part.json`, text);
      await expect(ExportFile.open(out, 'options')).rejects.toThrow(
        /\.part\.json is damaged, so the export cannot be resumed\. Remove it to start the export over\.$/,
      );
    },
  );

  it('says that the disk is full', async () => {
    const file = await ExportFile.open('/dev/full', 'options');
    await expect(file.write(Buffer.from('one\n'))).rejects.toThrow(
      '--out: no space is left for /dev/full (ENOSPC). Free some space, then run the same command again.',
    );
    await file.close();
  });

  it('does not give the final name to the incomplete file of another process', async () => {
    const first = await ExportFile.open(out, 'options');
    await first.write(Buffer.from('one\n'));
    const second = await ExportFile.open(out, 'options');
    await second.write(Buffer.from('on'));
    await expect(first.finish()).rejects.toThrow(/another process exports to/);
    expect(existsSync(out)).toBe(false);
    await first.close();
    await second.close();
  });
});
