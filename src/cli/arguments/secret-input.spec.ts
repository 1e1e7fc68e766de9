import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { UsageError } from '../subcommand.js';
import { SecretInput } from './secret-input.js';

const folder = mkdtempSync(join(tmpdir(), 'cc-secret-input-'));
afterAll(() => rmSync(folder, { recursive: true }));
const input = (...chunks: string[]) => new SecretInput(Readable.from(chunks));

describe('SecretInput', () => {
  it('reads "-" from standard input without the end of the line, and returns other values as they are', async () => {
    const secrets = input('tok', 'en\n');
    expect(await secrets.value('--set a', 'plain')).toBe('plain');
    expect(await secrets.value('--set b', '-')).toBe('token');
  });

  it('reads one value from standard input', async () => {
    const secrets = input('token');
    await secrets.value('--set a', '-');
    await expect(secrets.value('--set b', '-')).rejects.toThrow(UsageError);
    await expect(secrets.value('--set b', '-')).rejects.toThrow(/--set a reads it\. Read --set b from a file\.$/);
  });

  it('reads a file', () => {
    const path = join(folder, 'token');
    writeFileSync(path, 'to ken\r\n');
    expect(input().file('--set-file a', path)).toBe('to ken');
  });

  it('rejects what is missing, empty or too long, without repeating it', async () => {
    const path = join(folder, 'empty');
    writeFileSync(path, '\n');
    expect(() => input().file('--set-file a', path)).toThrow('--set-file a: the input is empty. Nothing was changed.');
    expect(() => input().file('--set-file a', join(folder, 'none'))).toThrow(/^--set-file a: .* cannot be read/);
    await expect(input('').value('--set a', '-')).rejects.toThrow(/is empty/);
    await expect(new SecretInput(undefined).value('--set a', '-')).rejects.toThrow(/no standard input/);
    await expect(input('x'.repeat(70_000)).value('--set a', '-')).rejects.toThrow(/longer than 64 KiB\.$/);
  });
});
