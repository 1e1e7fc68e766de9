// The build of another version: a checkout that has one, or a commit that is built aside.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './service.mjs';

const run = promisify(execFile);
const BUILT_WITHIN_MS = 600_000;

/** @param against a folder or a commit @returns the folder of the build */
export async function otherBuild(against, { directory, progress, cleanUp }) {
  if (existsSync(join(resolve(against), 'dist/main.js'))) return resolve(against);
  if (existsSync(resolve(against))) throw new Error(`${against} has no build: run \`npx nest build\` there`);
  const checkout = join(directory, 'checkout');
  progress(`building ${against} …`);
  await run('git', ['worktree', 'add', '--detach', checkout, against], { cwd: ROOT });
  cleanUp.push(() => run('git', ['worktree', 'remove', '--force', checkout], { cwd: ROOT }));
  const options = { cwd: checkout, timeout: BUILT_WITHIN_MS, maxBuffer: 64 * 1024 * 1024 };
  await installPackages(checkout, options);
  await run('npx', ['nest', 'build'], options);
  return checkout;
}

/** Those of this checkout, if the other version asks for the same ones. */
async function installPackages(checkout, options) {
  const same = await run('cmp', ['-s', join(ROOT, 'package-lock.json'), join(checkout, 'package-lock.json')]).then(
    () => true,
    () => false,
  );
  if (same) await cp(join(ROOT, 'node_modules'), join(checkout, 'node_modules'), { recursive: true });
  else await run('npm', ['ci', '--no-audit', '--no-fund'], options);
}
