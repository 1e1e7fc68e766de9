// Runs before `npm start`, `npm test`, `npm run cc` and, in a checkout, `npx clean-conversions`: installs and builds what is missing
// or out of date, and prints nothing otherwise. Plain JavaScript without dependencies, because nothing is installed when it runs for
// the first time.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
/** Exists while an install runs: one that was interrupted leaves a folder that looks complete and is not. */
const installing = join(root, 'dist', '.installing');
/** No dependency needs its install script, and one of them only reports the installation to a third party. */
const INSTALL = ['ci', '--ignore-scripts', '--no-audit', '--no-fund'];
const compiler = join(root, 'node_modules/@nestjs/cli/bin/nest.js');
/** The first one empties dist/. A change of a page builds only the second. */
const builds = [
  { message: 'Building …', stamp: '.built-from', args: [compiler, 'build'], files: serviceFiles },
  {
    message: 'Building the documentation …',
    stamp: '.guide-built-from',
    args: [join(root, 'docs-site/build.mjs')],
    files: guideFiles,
  },
].map(({ stamp, ...build }) => ({ ...build, stamp: join(root, 'dist', stamp) }));

requireNode(20, 19);
const isStart = process.env.npm_lifecycle_event === 'prestart' || process.argv[2] === 'start';
const isBuilt = builds.every(isCurrent);
// Otherwise the service itself says so at once.
if (isStart && (!installed() || !isBuilt))
  await requireFreePort(process.env.PORT || '8080', process.env.HOST || '127.0.0.1');
if (!installed() || (!isBuilt && !existsSync(compiler))) await install();
for (const build of builds) {
  if (isCurrent(build)) continue;
  const sources = fingerprint(build.files());
  await run(build.message, process.execPath, build.args);
  writeFileSync(build.stamp, sources);
}

async function install() {
  mkdirSync(dirname(installing), { recursive: true });
  writeFileSync(installing, '');
  await run('Installing dependencies (once, a minute or two) …', 'npm', INSTALL);
  rmSync(installing);
}

/** Rather than after minutes. Anything else that is wrong with the address is reported by the service. */
async function requireFreePort(port, host) {
  if (!/^\d{1,5}$/.test(port)) return;
  const server = createServer();
  const code = await new Promise((resolve) => {
    server.once('error', (error) => resolve(error.code));
    server.once('listening', () => server.close(() => resolve()));
    try {
      server.listen(Number(port), host);
    } catch (error) {
      resolve(error.code);
    }
  });
  if (code !== 'EADDRINUSE') return;
  console.error(`Port ${port} on ${host} is in use. Stop the process that listens on it, or set PORT to another one.`);
  process.exit(1);
}

function requireNode(major, minor) {
  const [foundMajor, foundMinor] = process.versions.node.split('.').map(Number);
  if (foundMajor > major || (foundMajor === major && foundMinor >= minor)) return;
  console.error(
    `Clean Conversions needs Node ${major}.${minor} or later; this is ${process.version}. Install a newer Node and run the command again.`,
  );
  process.exit(1);
}

/**
 * npm writes its own lock file last: if it is not older than ours, the install is complete and current. An install that was
 * interrupted while it removed the folder of an earlier one leaves that file, too.
 */
function installed() {
  if (existsSync(installing)) return false;
  const installedLock = join(root, 'node_modules', '.package-lock.json');
  return (
    existsSync(installedLock) && statSync(installedLock).mtimeMs >= statSync(join(root, 'package-lock.json')).mtimeMs
  );
}

function isCurrent({ stamp, files }) {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprint(files());
}

function serviceFiles() {
  const sources = filesBelow('src').filter(
    (file) => /\.(ts|tsx|cjs|css|html|svg|sql)$|bot-list\.json$/.test(file) && !file.endsWith('.spec.ts'),
  );
  return [...sources, 'tsconfig.json', 'nest-cli.json', 'package-lock.json'];
}

function guideFiles() {
  const beside = ['CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', 'package.json', 'package-lock.json'];
  return [...filesBelow('docs'), ...filesBelow('docs-site'), ...beside];
}

function filesBelow(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath ?? entry.path, entry.name)))
    .sort();
}

function fingerprint(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(file).update(readFileSync(join(root, file)));
  return hash.digest('hex');
}

function run(message, command, args) {
  console.error(message);
  const isWindows = process.platform === 'win32';
  // On standard error, so that `npx clean-conversions … --json` prints only its JSON document. In a process group of its own, so
  // that a signal to this process ends the step with all its children, wherever the signal came from.
  const child = spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell: isWindows, detached: !isWindows });
  const end = (signal) => {
    try {
      process.kill(isWindows ? child.pid : -child.pid, signal);
    } catch {
      // It has ended by itself.
    }
  };
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  let interrupted;
  const interrupt = (signal) => {
    // npm may ignore a second interrupt while it cleans up.
    end(interrupted ? 'SIGKILL' : signal);
    interrupted = signal;
  };
  for (const signal of signals) process.on(signal, interrupt);
  return new Promise((resolve) => {
    const fail = (reason) => {
      console.error(`This step failed (${reason}). Fix the error above and run the command again.`);
      process.exit(1);
    };
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => {
      for (const name of signals) process.removeListener(name, interrupt);
      if (interrupted) {
        end('SIGKILL');
        // Ends as the signal would have ended it, so that npm does not report an error of this project.
        process.kill(process.pid, interrupted);
        return;
      }
      if (code !== 0) fail(code === null ? signal : `exit code ${code}`);
      resolve();
    });
  });
}
