import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RejectedFile } from './rejected-file.js';

const rejected = (text: string, number = 2) => ({ number, reason: 'event required', text });

describe('the file of rejected lines', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cc-rejected-'));
  const path = join(folder, 'orders.csv.rejected.csv');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is not created without a rejected line', async () => {
    expect(await new RejectedFile(path, 'header\n').finish()).toBe(false);
    expect(existsSync(path)).toBe(false);
  });

  it('can be read by its owner only, and replaces an earlier one as a whole', async () => {
    writeFileSync(path, 'of an earlier import');
    writeFileSync(`${path}.partial`, 'of a killed import', { mode: 0o644 });
    const file = new RejectedFile(path, 'header\n');
    const line = `${'x'.repeat(1_000)}\n`;
    for (let at = 0; at < 100; at += 1) await file.add(rejected(line));
    expect(readFileSync(path, 'utf8')).toBe('of an earlier import');
    expect(await file.finish()).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe(`header\n${line.repeat(100)}`);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(existsSync(`${path}.partial`)).toBe(false);
  });

  it('has its first ten lines with number and reason for the terminal', async () => {
    const file = new RejectedFile(join(folder, 'first.csv'), '');
    for (let number = 2; number < 20; number += 1) await file.add(rejected('x\n', number));
    await file.finish();
    expect(file.first).toHaveLength(10);
    expect(file.first[9]).toEqual({ number: 11, reason: 'event required' });
  });

  it('is not written through a link', async () => {
    const [target, other] = [join(folder, 'target'), join(folder, 'other.csv')];
    writeFileSync(target, 'untouched');
    symlinkSync(target, `${other}.partial`);
    symlinkSync(target, other);
    const file = new RejectedFile(other, 'header\n');
    await file.add(rejected('line\n'));
    await file.finish();
    expect(readFileSync(target, 'utf8')).toBe('untouched');
    expect(readFileSync(other, 'utf8')).toBe('header\nline\n');
  });

  it('is reported when another import has replaced it', async () => {
    const file = new RejectedFile(join(folder, 'two.csv'), '');
    await file.add(rejected('one\n'));
    const other = new RejectedFile(join(folder, 'two.csv'), '');
    await other.add(rejected('two\n'));
    await expect(file.finish()).rejects.toThrow('Run one at a time');
    expect(await other.finish()).toBe(true);
  });

  it('does not get its name when lines could not be written', async () => {
    const file = new RejectedFile(join(folder, 'lost.csv'), 'header\n');
    await file.add(rejected('one\n'));
    await (file as unknown as { file: FileHandle }).file.close();
    await expect(file.add(rejected('x'.repeat(70_000)))).rejects.toThrow();
    expect(await file.finish()).toBe(false);
    expect(existsSync(join(folder, 'lost.csv'))).toBe(false);
  });

  it('names the option when it cannot be written', async () => {
    await expect(new RejectedFile(join(folder, 'none', 'x.csv'), '').add(rejected('line\n'))).rejects.toThrow(
      '--rejected <file>',
    );
  });
});
