import { existsSync, lstatSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../../test/support/folders.js';
import { ArchiveReader, ArchiveWriter, type BackupHeader } from './archive.js';

const folder = temporaryFolder('cc-archive-');
const HEADER = { version: '0.3.0', tables: [{ name: 'sites', columns: ['id'] }] } as unknown as BackupHeader;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('the file of a backup', () => {
  it('contains the blocks of all tables in their order', () => {
    const file = join(folder, 'some.backup');
    const blocks = ['a\n', 'b\n'.repeat(2_000), ''].map((rows, n) => ({ table: `t${n}`, rows: Buffer.from(rows) }));
    const writer = new ArchiveWriter(file, HEADER);
    for (const block of blocks) writer.add(block);
    expect(existsSync(file)).toBe(false);
    writer.finish();
    const reader = new ArchiveReader(file);
    expect(reader.header).toEqual(HEADER);
    expect([...reader.blocks()]).toEqual(blocks);
    expect(reader.done).toBe(1);
    reader.close();
  });

  it('does not appear on a full disk', () => {
    const file = join(folder, 'full.backup');
    symlinkSync('/dev/full', `${file}.part`);
    expect(() => new ArchiveWriter(file, HEADER)).toThrow(
      `${file} cannot be completed (ENOSPC). Free some space, then run the command again.`,
    );
    expect(existsSync(file)).toBe(false);
    expect(() => lstatSync(`${file}.part`)).toThrow('ENOENT');
  });
});
