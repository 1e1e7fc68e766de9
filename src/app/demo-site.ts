import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashApiKey } from '../sites/api-key.js';
import type { SiteDirectory } from '../sites/site-directory.js';
import type { Sites } from '../sites/sites.js';

export const DEMO_HOST = 'localhost';

/** Creates the demo site, in embedded mode only. Its key is stored in the data directory: every start can print it. */
export async function ensureDemoSite(dataDir: string, sites: Sites, directory: SiteDirectory): Promise<string> {
  const file = join(dataDir, 'demo-key');
  await registerOnce(sites, directory);
  const site = directory.find(DEMO_HOST);
  const storedKey = readFileIfExists(file);
  if (storedKey && site?.keysByHash.get(hashApiKey(storedKey))?.status === 'active') return storedKey;
  await sites.enableInbound(DEMO_HOST);
  const { key } = await sites.issueKey(DEMO_HOST, 'Demo', false);
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  // writeFileSync sets the mode of a new file only.
  chmodSync(file, 0o600);
  await directory.refresh();
  return key;
}

/** Another instance may register the site at the same time. Its registration counts as success. */
async function registerOnce(sites: Sites, directory: SiteDirectory): Promise<void> {
  if (directory.find(DEMO_HOST)) return;
  const failure = await sites.register(DEMO_HOST, ['127.0.0.1', '[::1]']).then(
    () => undefined,
    (error: unknown) => error,
  );
  await directory.refresh();
  if (!directory.find(DEMO_HOST)) throw failure;
}

/** Reads a file that an earlier start may have written. */
export function readFileIfExists(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
