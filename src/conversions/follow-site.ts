import { randomUUID } from 'node:crypto';
import type { Settings } from '../kernel/settings/settings.js';
import type { EventLog } from '../log/event-log.js';
import type { Postgres } from '../postgres/postgres.js';
import { type LoadedSite, SiteDirectory } from '../sites/site-directory.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import { requireSite } from './import/import-run.js';

interface Dependencies {
  readonly log: EventLog;
  readonly secrets: SiteSecrets;
  readonly postgres: Postgres;
  readonly settings: Settings;
}

/** The site as it is at each call, for a process other than the service that stores conversions. */
export async function followSite(
  { log, secrets, postgres, settings }: Dependencies,
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
