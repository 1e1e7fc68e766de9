import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isLoopback } from '../kernel/addresses.js';
import type { CommandExecutor } from '../kernel/command.js';
import type { Settings } from '../kernel/settings.js';
import { platformNameOf } from '../platforms/connection-name.js';
import { platformOf } from '../platforms/index.js';
import { PLATFORM_NAMES, type Platform, type PlatformName } from '../platforms/platform.js';
import { ConnectPlatform } from '../sites/connection.commands.js';
import type { SiteConnection } from '../sites/connection.js';
import type { SiteDirectory } from '../sites/site-directory.js';
import { DEMO_HOST, readFileIfExists } from './demo-site.js';

const MAIN = fileURLToPath(new URL('../sandbox/main.js', import.meta.url));
const START_TIMEOUT_MS = 10_000;

type SandboxSettings = Pick<Settings, 'dataDir' | 'databaseUrl' | 'demoPlatforms'>;

/** Settings of connections to the sandbox. None of them is a real secret: the sandbox accepts any value. */
const SETTINGS: Record<PlatformName, Record<string, string>> = {
  google_ads: {
    customer_id: '1234567890',
    client_id: 'demo-client',
    client_secret: 'demo-client-secret',
    refresh_token: 'demo-refresh-token',
    'event.purchase': '111111111',
    'event.lead': '222222222',
    'event.signup': '333333333',
    refund_event: 'refund',
  },
  meta: { pixel_id: '1234567890', access_token: 'demo-access-token' },
  tiktok: { pixel_code: 'DEMOPIXELCODE', access_token: 'demo-access-token' },
  microsoft_ads: {
    tag_id: '12345678',
    access_token: 'demo-access-token',
    'event.purchase': 'purchase',
    'event.lead': 'lead',
    'event.signup': 'signup',
  },
  ga4: {
    measurement_id: 'G-DEMO123456',
    api_secret: 'demo-api-secret',
    synthetic_client_id: 'yes',
    refund_event: 'refund',
  },
  segment: { write_key: 'demo-write-key' },
  linkedin: {
    access_token: 'demo-access-token',
    'event.purchase': '1001',
    'event.lead': '1002',
    'event.signup': '1003',
  },
  pinterest: { ad_account_id: '123456789012', access_token: 'demo-access-token' },
  snapchat: { pixel_id: '7e5a1b2c-0000-4000-8000-000000000001', access_token: 'demo-access-token' },
  reddit: { pixel_id: 't2_demo1', access_token: 'demo-access-token' },
  x: {
    pixel_id: 'o8z6j',
    pixel_token: 'demo-pixel-token',
    'event.purchase': 'tw-o8z6j-o87ne',
    'event.lead': 'tw-o8z6j-o87nf',
    'event.signup': 'tw-o8z6j-o87ng',
  },
  webhook: { url: 'https://receiver.example/conversions', secret: 'whsec_ZGVtby1zZWNyZXQtZGVtby1zZWNyZXQ=' },
};

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
export function sandboxConnection({ name }: Platform, sandboxUrl: string) {
  return { set: SETTINGS[name], endpoint: `${sandboxUrl}/${name}` };
}

/**
 * Connects all twelve platforms of the demo site to the sandbox, and follows the sandbox to another port. Connections that the
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
    const platform = platformOf(name);
    if (!platform) continue;
    const request = sandboxConnection(platform, sandboxUrl);
    const { endpoint } = request;
    const before = site.connections.find((connection) => connection.platform === name);
    if (before && (before.endpoint === endpoint || !isOnSandbox(before))) continue;
    const change = before ? { set: {}, endpoint } : request;
    await commands.execute(new ConnectPlatform('system', site.host, platform, change, name));
  }
  writeFileSync(portFile(dataDir), `${new URL(sandboxUrl).port}\n`);
  await directory.refresh();
}

/** Whether it leads to the sandbox of an earlier start, which may have had another port. */
function isOnSandbox({ platform, endpoint, disconnected }: SiteConnection): boolean {
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
