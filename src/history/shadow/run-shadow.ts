import { UserError } from '../../kernel/errors.js';
import type { Settings } from '../../kernel/settings/settings.js';
import type { PositionRange } from '../../log/event.js';
import type { EventLog } from '../../log/event-log.js';
import { type ReaderHold, withReaderHold } from '../../log/retention/retention-holds.js';
import { platformOfConnection } from '../../platforms/index.js';
import type { Postgres } from '../../postgres/postgres.js';
import { settingsAfter } from '../../sites/connections/named-connection.js';
import type { Site } from '../../sites/site.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';
import { withReadClient } from '../with-client.js';
import { type ShadowResult } from './differences.js';
import { shadowReplay } from './shadow-replay.js';
import type { ShadowRules } from './shadow-rules.js';

export interface ShadowDependencies {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly secrets: SiteSecrets;
}

export interface ShadowRun {
  /** Ends it at once, also while it waits for the database. */
  readonly signal?: AbortSignal | undefined;
  onHold(hold: ReaderHold): void;
  /** After each page; may throw to stop. */
  progress(conversions: number, position: number): void;
}

/** Replays a range with other rules while retention keeps its events. */
export async function runShadow(
  { settings, postgres, log, secrets }: ShadowDependencies,
  site: Site,
  { after, until }: PositionRange,
  rules: ShadowRules,
  { signal, onHold, progress }: ShadowRun,
): Promise<ShadowResult> {
  const dedupSecret = await secrets.dedupSecret(site.host);
  const { dedupWindowMs: defaultWindowMs, deliveryGiveUpMs: giveUpMs } = settings;
  const request = { after, until, site, rules, dedupSecret, defaultWindowMs, giveUpMs };
  return withReadClient(postgres, 'shadow', signal, (client) =>
    // From the start of the log: the dedup claims before the range are read too.
    withReaderHold(postgres, 'history shadow', 0, (hold) => {
      onHold(hold);
      return shadowReplay(log, client, request, progress);
    }),
  );
}

/** Throws, as `platforms connect` does, if a connection cannot have these settings. Secrets are refused: the rules are stored. */
export function requireValidSettings(site: Site, settings: ShadowRules['settings']): void {
  for (const [name, set = {}] of Object.entries(settings)) {
    const platform = platformOfConnection(site.connections.find((candidate) => candidate.platform === name));
    if (!platform) continue;
    const secret = platform.fields.find(({ name: field, secret, address }) => (secret || address) && field in set);
    if (secret) throw new UserError(`${name}: ${secret.name} does not change what would be sent. Leave it out.`);
    settingsAfter(site, { name, platform }, set);
  }
}
