import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { type Finding, failed, judged, passed } from './check.js';

const GB = 1024 ** 3;
const DISK_FREE_MIN_BYTES = GB;

export async function node(): Promise<Finding> {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return judged(major > 20 || (major === 20 && minor >= 19), process.version, 'Install Node 20.19 or later.');
}

/** Checks the database's folder, which may be on another disk than the data folder. */
export async function disk(dataDir: string): Promise<Finding> {
  const folder = join(dataDir, 'postgres');
  const { bavail, bsize } = await statfs(folder).catch(() => statfs(dataDir));
  return judged(
    bavail * bsize >= DISK_FREE_MIN_BYTES,
    `${((bavail * bsize) / GB).toFixed(1)} GB free for ${dataDir}`,
    'Free disk space, or move DATA_DIR to a larger disk: without space the log cannot be written.',
  );
}

export async function secretFiles(dataDir: string): Promise<Finding> {
  const found: string[] = [];
  const exposed: string[] = [];
  for (const name of ['secret-key', 'demo-key']) {
    const file = join(dataDir, name);
    const stats = await stat(file).catch(() => undefined);
    if (stats) found.push(name);
    if (stats && (stats.mode & 0o077) !== 0) exposed.push(file);
  }
  if (exposed.length > 0)
    return failed(`other users can read ${exposed.join(' and ')}`, `chmod 600 ${exposed.join(' ')}`);
  return passed(found.length === 0 ? 'none' : `${found.join(' and ')}: readable by the owner only`);
}
