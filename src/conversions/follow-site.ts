import { randomUUID } from 'node:crypto';
import { requireSite } from '../conversions/import/import-run.js';
import { type LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import type { CliDependencies } from './session.js';

/** The site as it is at each call, for a command that stores conversions. */
export async function followSite(
  { log, secrets, postgres, settings }: Pick<CliDependencies, 'log' | 'secrets' | 'postgres' | 'settings'>,
  host: string,
): Promise<() => LoadedSite> {
  const directory = new SiteDirectory(log, secrets, {
    authFailureLimit: settings.authFailureLimit,
    authFailureWindowMs: settings.authFailureWindowMs,
    instance: randomUUID(),
    clock: postgres.clock,
  });
  await directory.start();
  const site = () => requireSite(directory.find(host), host);
  site();
  return site;
}
