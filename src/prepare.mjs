// Runs before `npm start`, `npm test` and `npm run cc`: installs and builds what is missing or out of date, and prints nothing
// otherwise. Plain JavaScript without dependencies, because nothing is installed when it runs for the first time.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const stamp = join(root, 'dist', '.built-from');

requireNode(20, 19);
if (!installed()) run('Installing dependencies (once, a minute or two) …', 'npm', ['ci', '--no-audit', '--no-fund']);
const sources = fingerprint();
if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== sources) {
  run('Building …', process.execPath, [join(root, 'node_modules/@nestjs/cli/bin/nest.js'), 'build']);
  writeFileSync(stamp, sources);
}

function requireNode(major, minor) {
  const [foundMajor, foundMinor] = process.versions.node.split('.').map(Number);
  if (foundMajor > major || (foundMajor === major && foundMinor >= minor)) return;
  console.error(
    `Clean Conversions needs Node ${major}.${minor} or later; this is ${process.version}. Install a newer Node and run the command again.`,
  );
  process.exit(1);
}

/** npm writes its own lock file last: if it is not older than ours, the install is complete and current. */
function installed() {
  const installedLock = join(root, 'node_modules', '.package-lock.json');
  return (
    existsSync(installedLock) && statSync(installedLock).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs
  );
}

function fingerprint() {
  const hash = createHash('sha256');
  const files = readdirSync(join(root, 'src'), { recursive: true })
    .map(String)
    .filter((file) => /\.(ts|cjs)$|bot-list\.json$/.test(file) && !file.endsWith('.spec.ts'))
    .map((file) => join('src', file))
    .sort();
  for (const file of [...files, 'tsconfig.json', 'nest-cli.json', 'package-lock.json']) {
    hash.update(file).update(readFileSync(join(root, file)));
  }
  return hash.digest('hex');
}

function run(message, command, args) {
  console.error(message);
  // On standard error, so that `npm run -s cc -- … --json` prints only its JSON document.
  const shell = process.platform === 'win32';
  const result = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell });
  if (result.status === 0) return;
  console.error(
    `This step failed (${result.error?.message ?? `exit code ${result.status}`}). Fix the error above and run the command again.`,
  );
  process.exit(1);
}
