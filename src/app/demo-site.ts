import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CommandExecutor } from '../kernel/command.js';
import { hashApiKey } from '../sites/api-key.js';
import { IssueKey } from '../sites/key.commands.js';
import { AddSite, EnableInbound } from '../sites/site.commands.js';
import type { SiteDirectory } from '../sites/site-directory.js';

export const DEMO_HOST = 'localhost';

/** A site to try things on, in embedded mode only. Its key is kept beside the data, so that every start can show it. */
export async function ensureDemoSite(
  dataDir: string,
  commands: CommandExecutor,
  directory: SiteDirectory,
): Promise<string> {
  const file = join(dataDir, 'demo-key');
  await registerOnce(commands, directory);
  const open = directory.find(DEMO_HOST);
  const kept = readIfThere(file);
  if (kept && open?.keysByHash.get(hashApiKey(kept))?.status === 'active') return kept;
  await commands.execute(new EnableInbound('system', DEMO_HOST));
  const { key } = await commands.execute(new IssueKey('system', DEMO_HOST, 'Demo', false));
  writeFileSync(file, `${key}\n`, { mode: 0o600 });
  // The mode above is for a new file only.
  chmodSync(file, 0o600);
  await directory.refresh();
  return key;
}

/** Of two instances that start for the first time together one comes second. */
async function registerOnce(commands: CommandExecutor, directory: SiteDirectory): Promise<void> {
  if (directory.find(DEMO_HOST)) return;
  const failure = await commands.execute(new AddSite('system', DEMO_HOST, ['127.0.0.1', '[::1]'])).then(
    () => undefined,
    (error: unknown) => error,
  );
  await directory.refresh();
  if (!directory.find(DEMO_HOST)) throw failure;
}

/** What an earlier start kept beside the data. */
export function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return undefined;
  }
}
