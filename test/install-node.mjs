import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const CACHE = fileURLToPath(new URL('../.cache/', import.meta.url));

/** Installs a version of Node from the npm package `node` unless it is cached. Returns its binary, undefined on failure. */
export function installNode(version) {
  const folder = join(CACHE, `node-${version}`);
  const binary = join(folder, 'node_modules', 'node', 'bin', 'node');
  if (!existsSync(binary)) {
    console.error(`\nInstalling Node ${version} …`);
    mkdirSync(folder, { recursive: true });
    const args = ['install', '--prefix', folder, '--no-audit', '--no-fund', '--loglevel=error', `node@${version}`];
    spawnSync('npm', args, { stdio: ['ignore', process.stderr, process.stderr], shell: process.platform === 'win32' });
  }
  if (existsSync(binary)) return binary;
  console.error(`Node ${version} could not be installed from npm.`);
  return undefined;
}
