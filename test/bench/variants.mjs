// The measured variants, each as `{ id, run }` for the interleaved rounds.
import { fileURLToPath } from 'node:url';
import { startChild, untilOutput } from './children.mjs';
import { loadArguments } from './generator.mjs';
import { measure } from './measure.mjs';
import { findPgbench, measurePgbench, preparePgbench } from './pgbench.mjs';
import { createDatabase, withClient } from './postgres.mjs';
import { freePort } from './service.mjs';

export const APPENDS_IN_FLIGHT = 64;
const INBOUND = { path: '/__cc/inbound', expect: '"results":' };
const here = (file) => fileURLToPath(new URL(file, import.meta.url));

/** HTTP load on a server for the configured time. `target` is `{ port, key, pid, server?, sandbox?, path, expect, … }`. */
export function httpVariant(id, target, connections, { generator, settings }) {
  const { port, key = '', path, expect, headers, users, body } = target;
  const { warm, seconds } = settings;
  const args = loadArguments({ port, key, path, expect, headers, users, body, connections, warm, seconds });
  const watch = { server: target.pid, postgres: target.server?.postmaster, sandbox: target.sandbox?.pid };
  return { id, run: () => measure(id, generator, args, { watch }) };
}

/** Sends this many new conversions as fast as possible, for at most `seconds`. */
export function fillInbound(service, requests, { generator, seconds = 120, connections = 256 }) {
  const args = loadArguments({ ...INBOUND, port: service.port, key: service.key, connections, requests, seconds });
  return measure('filling', generator, args);
}

export const inboundTarget = (service) => ({ ...service, ...INBOUND });

export async function startEcho() {
  const port = await freePort();
  const child = startChild('the echo', process.execPath, [here('echo.mjs')], { env: { PORT: String(port) } });
  await untilOutput(child, 'ready');
  return { port, pid: child.pid, path: '/', expect: '"orderId":' };
}

/** With a sandbox it also sends every conversion to three of its platforms. */
export async function startNaive(server, sandbox) {
  const port = await freePort();
  const key = 'naive';
  const DATABASE_URL = await createDatabase(server, 'naive');
  const env = { PORT: String(port), DATABASE_URL, API_KEY: key, PLATFORMS_URL: sandbox?.url };
  const child = startChild('the naive design', process.execPath, [here('naive/main.mjs')], { env });
  await untilOutput(child, 'ready');
  return { port, key, pid: child.pid, server, sandbox, ...INBOUND };
}

export function appendVariant(id, script, server, env, { settings }, inFlight = APPENDS_IN_FLIGHT) {
  const { warm, seconds } = settings;
  const args = [here(script), `--in-flight=${inFlight}`, `--warm=${warm}`, `--seconds=${seconds}`];
  return { id, run: () => measure(id, process.execPath, args, { env, watch: { postgres: server.postmaster } }) };
}

/** @returns undefined when pgbench is not installed */
export async function pgbenchVariant(id, server, { directory, settings }) {
  const pgbench = findPgbench();
  if (!pgbench) return undefined;
  const database = 'pgbench';
  await createDatabase(server, database);
  const script = await withClient(server, (client) => preparePgbench(client, directory), database);
  return { id, run: () => measurePgbench({ pgbench, script, server, database, seconds: settings.seconds }) };
}
