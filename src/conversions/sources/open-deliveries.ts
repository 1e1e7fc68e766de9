import type { Settings } from '../../kernel/settings/settings.js';
import type { EventLog } from '../../log/event-log.js';
import type { Postgres } from '../../postgres/postgres.js';
import type { LoadedSite } from '../../sites/site-directory.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import type { LoadedSource } from '../../sites/sources/loaded-source.js';
import { Matcher } from '../../visitors/matcher.js';
import { followSite } from '../follow-site.js';
import { ConversionReceiver, receivedOf } from '../receive-conversion.handler.js';
import { SourceDeliveries } from './source-deliveries.js';

interface Dependencies {
  readonly log: EventLog;
  readonly secrets: SiteSecrets;
  readonly postgres: Postgres;
  readonly settings: Settings;
}

interface Opened {
  readonly deliveries: SourceDeliveries;
  readonly site: LoadedSite;
  readonly source: LoadedSource;
}

/** Stores deliveries in a process other than the service, which delivers what becomes a conversion. */
export async function withDeliveries<Result>(
  dependencies: Dependencies,
  { host, keyId }: { readonly host: string; readonly keyId: string },
  work: (opened: Opened) => Promise<Result>,
): Promise<Result> {
  const { log, postgres, settings } = dependencies;
  const site = (await followSite(dependencies, host))();
  const source = site.sources.get(keyId);
  if (!source) throw new Error('The source is not loaded');
  const matcher = new Matcher(postgres, () => {});
  try {
    const receiver = new ConversionReceiver(log, matcher, postgres.clock);
    const deliveries = new SourceDeliveries({
      log,
      clock: postgres.clock,
      rules: settings,
      receive: async (command) => receivedOf(await receiver.receive(command), {}),
    });
    return await work({ deliveries, site, source });
  } finally {
    await matcher.close();
  }
}
