import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A new folder, below that of the run, which is removed with it. */
export function temporaryFolder(prefix: string): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  // If root runs the tests, another user runs PostgreSQL and must be able to enter the folder.
  chmodSync(folder, 0o755);
  return folder;
}
