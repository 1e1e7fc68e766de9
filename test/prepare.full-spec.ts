import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { temporaryFolder } from './support/folders.js';
import { eventually } from './support/waiting.js';

const PREPARE = join(import.meta.dirname, '../scripts/prepare.mjs');

const SOURCES = ['tsconfig.json', 'nest-cli.json', 'package-lock.json', 'package.json', 'docs/page.txt'];
SOURCES.push('CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md');
/** It empties the folder. */
const COMPILER = `const { appendFileSync, mkdirSync, rmSync } = require("node:fs");
rmSync("dist", { recursive: true, force: true }); mkdirSync("dist"); appendFileSync("builds", "service ")`;
const GUIDE = `import { appendFileSync } from 'node:fs'; appendFileSync('builds', 'guide ')`;

/** Leaves a folder that looks complete, like an npm that is interrupted while it removes an earlier install. */
const NPM = `#!/bin/sh
mkdir -p node_modules && : > node_modules/.package-lock.json
mkdir -p node_modules/@nestjs/cli/bin && echo '${COMPILER}' > node_modules/@nestjs/cli/bin/nest.js
echo $$ >> installs
echo "$@" > arguments
if [ -e hanging ]; then sleep 1000 & wait; fi
`;

describe('preparing a checkout', () => {
  let root: string;

  beforeEach(() => {
    root = temporaryFolder('cc-prepare-');
    for (const folder of ['src', 'scripts', 'bin', 'docs', 'docs-site']) mkdirSync(join(root, folder));
    copyFileSync(PREPARE, join(root, 'scripts/prepare.mjs'));
    for (const file of SOURCES) writeFileSync(join(root, file), '{}');
    writeFileSync(join(root, 'docs-site/build.mjs'), GUIDE);
    writeFileSync(join(root, 'bin/npm'), NPM);
    chmodSync(join(root, 'bin/npm'), 0o755);
  });
  afterEach(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));

  const prepare = (env: Record<string, string> = {}): ChildProcess =>
    spawn(process.execPath, [join(root, 'scripts/prepare.mjs')], {
      cwd: root,
      env: { PATH: [join(root, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter), ...env },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
  const builds = () => readFileSync(join(root, 'builds'), 'utf8');
  const installs = () =>
    existsSync(join(root, 'installs')) ? readFileSync(join(root, 'installs'), 'utf8').trim().split('\n') : [];

  it('installs and builds once', async () => {
    expect(await once(prepare(), 'exit')).toEqual([0, null]);
    expect(await once(prepare(), 'exit')).toEqual([0, null]);
    expect(installs()).toHaveLength(1);
    // Some dependencies report the installation to a third party.
    expect(readFileSync(join(root, 'arguments'), 'utf8')).toContain('--ignore-scripts');
    expect(builds()).toBe('service guide ');
  });

  it('builds only the documentation after a change of a page, and both after one of the service', async () => {
    expect(await once(prepare(), 'exit')).toEqual([0, null]);
    writeFileSync(join(root, 'docs/page.txt'), 'changed');
    expect(await once(prepare(), 'exit')).toEqual([0, null]);
    expect(builds()).toBe('service guide guide ');
    writeFileSync(join(root, 'src/new.ts'), '');
    expect(await once(prepare(), 'exit')).toEqual([0, null]);
    expect(builds()).toBe('service guide guide service guide ');
  });

  it('says that the port of the service is in use before it installs anything', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const PORT = String((server.address() as AddressInfo).port);
      const start = prepare({ PORT, npm_lifecycle_event: 'prestart' });
      const told = text(start.stderr as Readable);
      expect(await once(start, 'exit')).toEqual([1, null]);
      expect(await told).toMatch(new RegExp(`^Port ${PORT} on 127.0.0.1 is in use\\.`));
      expect(installs()).toEqual([]);
      expect(await once(prepare({ PORT }), 'exit')).toEqual([0, null]);
    } finally {
      server.close();
    }
  });

  it('ends npm when it is interrupted, and installs again at the next start', async () => {
    writeFileSync(join(root, 'hanging'), '');
    const interrupted = prepare();
    const [npm] = await eventually(() => installs(), { length: 1 });
    const exited = once(interrupted, 'exit');
    interrupted.kill('SIGINT');
    expect(await exited).toEqual([null, 'SIGINT']);
    // It gets the signal before the script ends by it, and may take a moment.
    await eventually(() => isRunning(Number(npm)), false);

    rmSync(join(root, 'hanging'));
    expect(await once(prepare(), 'exit')).toEqual([0, null]);
    expect(installs()).toHaveLength(2);
  });
});

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
