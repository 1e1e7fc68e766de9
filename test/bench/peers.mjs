// Event stores for comparison. They are not dependencies of the product (emmett's peer range conflicts with it), so they
// are installed on first use into an ignored cache folder.
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runChild } from './children.mjs';

const directory = fileURLToPath(new URL('../../.cache/bench-peers/', import.meta.url));
const wanted = fileURLToPath(new URL('./peers/package.json', import.meta.url));

/** @returns the folder they are installed in; rejects when they cannot be installed */
export async function installPeers() {
  if (await isInstalled()) return directory;
  await mkdir(directory, { recursive: true });
  await copyFile(wanted, join(directory, 'package.json'));
  await runChild(
    'npm install',
    'npm',
    ['install', '--no-audit', '--no-fund', '--no-package-lock', '--loglevel=error'],
    {
      cwd: directory,
    },
  );
  return directory;
}

async function isInstalled() {
  const { dependencies } = JSON.parse(await readFile(wanted, 'utf8'));
  for (const [name, version] of Object.entries(dependencies)) {
    const manifest = join(directory, 'node_modules', name, 'package.json');
    if (!existsSync(manifest) || JSON.parse(await readFile(manifest, 'utf8')).version !== version) return false;
  }
  return true;
}
