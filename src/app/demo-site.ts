import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandExecutor } from '../kernel/command.js';
import { hashApiKey } from '../sites/keys/api-key.js';
import { IssueKey } from '../sites/keys/key.commands.js';
import { AddSite, EnableInbound } from '../sites/site.commands.js';
import type { SiteDirectory } from '../sites/site-directory.js';

export const DEMO_HOST = 'localhost';

/**
 * Creates the demo site, in embedded mode only. Its key is stored in the data directory: every start can print it. A site
 * that an operator has removed, and a key that an operator has revoked or rotated, are not created again: then there is no key to print.
 */
export async function ensureDemoSite(
  dataDir: string,
  commands: CommandExecutor,
  directory: SiteDirectory,
): Promise<string | undefined> {
  const file = join(dataDir, 'demo-key');
  if (directory.wasRemoved(DEMO_HOST)) return undefined;
  await registerOnce(commands, directory);
  const site = directory.find(DEMO_HOST);
  const storedKey = readFileIfExists(file);
  const current = storedKey && site?.keysByHash.get(hashApiKey(storedKey));
  if (current && current.status === 'active' && !current.rotation) return storedKey;
  // Without any key, the start that registered the site did not finish.
  if (site && site.keysByHash.size > 0) return undefined;
  await commands.execute(new EnableInbound('system', DEMO_HOST));
  const { key } = await commands.execute(new IssueKey('system', DEMO_HOST, 'Demo', false));
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  // writeFileSync sets the mode of a new file only.
  chmodSync(file, 0o600);
  await directory.refresh();
  return key;
}

/** Another instance may register the site at the same time. Its registration counts as success. */
async function registerOnce(commands: CommandExecutor, directory: SiteDirectory): Promise<void> {
  if (directory.find(DEMO_HOST)) return;
  const failure = await commands.execute(new AddSite('system', DEMO_HOST, ['127.0.0.1', '[::1]'])).then(
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
