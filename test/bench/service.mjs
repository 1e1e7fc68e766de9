// The service as a process: `node dist/main.js` with embedded PostgreSQL on a new data directory.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startChild, stopChild, untilReady, unwatchServer } from './children.mjs';
import { findServer, withClient } from './postgres.mjs';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FIRST_START_WITHIN_MS = 120_000;

/** @param root the checkout whose build is started
 *  @returns `{ port, key, pid, dataDir, server, startMs, stop }`; `server` is its PostgreSQL, as in `postgres.mjs` */
export async function startService(dataDir, settings = {}, root = ROOT) {
  return start(dataDir, process.execPath, [...startFlags(root), join(root, 'dist/main.js')], { settings, root });
}

/** Those of `npm start`. */
function startFlags(root) {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  return scripts.start.split(' ').filter((word) => word.startsWith('--'));
}

/**
 * With `npm start`, under the Node that runs this. npm runs the service as a child, so both get a process group that can be
 * stopped together.
 */
export async function startWithNpm(dataDir) {
  const PATH = [dirname(process.execPath), process.env.PATH].join(delimiter);
  return start(dataDir, 'npm', ['start'], { detached: true, settings: { PATH } });
}

async function start(dataDir, command, args, { detached = false, settings = {}, root = ROOT } = {}) {
  const port = await freePort();
  const env = {
    PORT: String(port),
    ADMIN_PORT: '0',
    DATA_DIR: dataDir,
    LOG_LEVEL: 'warn',
    DATABASE_URL: undefined,
    DEMO_PLATFORMS: 'false',
    ...settings,
  };
  const child = startChild('the service', command, args, { env, cwd: root, detached });
  const startMs = await untilReady(child, `http://127.0.0.1:${port}/readyz`, { withinMs: FIRST_START_WITHIN_MS });
  const server = findServer(dataDir);
  const stop = async () => {
    const outcome = await stopChild(child, { group: detached });
    unwatchServer(server.postmaster);
    return outcome;
  };
  const key = await readDemoKey(dataDir);
  return { port, key, pid: child.pid, dataDir, server, startMs, stop };
}

/** The service writes it after it listens. */
async function readDemoKey(dataDir) {
  const deadline = performance.now() + FIRST_START_WITHIN_MS;
  for (;;) {
    const key = (await readFile(join(dataDir, 'demo-key'), 'utf8').catch(() => '')).trim();
    if (key !== '') return key;
    if (performance.now() > deadline) throw new Error('the service wrote no demo key');
    await sleep(50);
  }
}

/** The number of received conversions in its log. */
export async function storedConversions(service) {
  const { rows } = await withClient(service.server, (client) =>
    client.query(`SELECT count(*)::int AS stored FROM cc.events WHERE type = 'conversion.received.v1'`),
  );
  return rows[0].stored;
}

export async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
