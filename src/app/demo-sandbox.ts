import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLoopback } from '../kernel/addresses.js';
import type { CommandExecutor } from '../kernel/command.js';
import type { Settings } from '../kernel/settings/settings.js';
import { platformNameOf } from '../platforms/connection-name.js';
import { PLATFORM_NAMES, type Platform } from '../platforms/platform.js';
import { ConnectPlatform } from '../sites/connections/connection.commands.js';
import type { SiteConnection } from '../sites/connections/connection.js';
import { platformIn } from '../sites/connections/named-connection.js';
import type { SiteDirectory } from '../sites/site-directory.js';
import { DEMO_HOST, readFileIfExists } from './demo-site.js';

const MAIN = fileURLToPath(new URL('../sandbox/main.js', import.meta.url));
const START_TIMEOUT_MS = 10_000;

type SandboxSettings = Pick<Settings, 'dataDir' | 'databaseUrl' | 'demoPlatforms'>;

/**
 * Starts the sandbox as a child process that ends with this one. Reuses the port of the previous start if it is free:
 * the demo site's connections stay valid. Resolves with the sandbox's URL, or undefined if it did not start.
 */
export async function startDemoSandbox(dataDir: string): Promise<string | undefined> {
  const previousPort = readFileIfExists(portFile(dataDir));
  return (previousPort && (await spawnSandbox(previousPort))) || (await spawnSandbox('0'));
}

/**
 * The URL of the sandbox that the service started, as another process of the installation finds it. Undefined if there is none.
 */
export function findDemoSandbox({ dataDir, databaseUrl, demoPlatforms }: SandboxSettings): string | undefined {
  const port = databaseUrl || !demoPlatforms ? undefined : readFileIfExists(portFile(dataDir));
  return port === undefined ? undefined : `http://127.0.0.1:${port}`;
}

/** What connects a platform of any site to the sandbox. */
export function sandboxConnection({ name, demo }: Platform, sandboxUrl: string) {
  return { set: demo, endpoint: `${sandboxUrl}/${name}` };
}

/**
 * Connects all platforms of the demo site to the sandbox, and follows the sandbox to another port. Connections that the
 * operator has removed, or connected to something else, stay as they are.
 */
export async function connectDemoPlatforms(
  dataDir: string,
  sandboxUrl: string,
  commands: CommandExecutor,
  directory: SiteDirectory,
): Promise<void> {
  const site = directory.find(DEMO_HOST)?.site;
  if (!site) return;
  const names = new Set([...PLATFORM_NAMES, ...site.connections.map(({ platform }) => platform)]);
  for (const name of names) {
    const before = site.connections.find((connection) => connection.platform === name);
    const platform = platformIn(site, name);
    if (!platform) continue;
    const request = sandboxConnection(platform, sandboxUrl);
    const { endpoint } = request;
    if (before && (before.endpoint === endpoint || !wasOnSandbox(before))) continue;
    const change = before ? { set: {}, endpoint } : request;
    await commands.execute(new ConnectPlatform('system', site.host, platform, change, name));
  }
  writeFileSync(portFile(dataDir), `${new URL(sandboxUrl).port}\n`);
  await directory.refresh();
}

/** Whether it leads to the sandbox of an earlier start, which may have had another port. */
function wasOnSandbox({ platform, endpoint, disconnected }: SiteConnection): boolean {
  if (endpoint === undefined || disconnected) return false;
  const { hostname, pathname } = new URL(endpoint);
  return isLoopback(hostname) && pathname === `/${platformNameOf(platform)}`;
}

function portFile(dataDir: string): string {
  return join(dataDir, 'demo-sandbox-port');
}

/** Resolves with undefined if the process does not listen in time or exits, for example because the port is in use. */
function spawnSandbox(port: string): Promise<string | undefined> {
  const child = spawn(process.execPath, [MAIN, '--port', port, '--with-parent'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return new Promise((resolve) => {
    const timeout = setTimeout(() => child.kill(), START_TIMEOUT_MS);
    child.once('exit', () => {
      clearTimeout(timeout);
      resolve(undefined);
    });
    child.stdout.once('data', (chunk: Buffer) => {
      clearTimeout(timeout);
      process.once('exit', () => child.kill());
      resolve(/listens on (\S+)/.exec(String(chunk))?.[1]);
    });
  });
}
