import { allProjections } from '../app/projections.js';
import type { Sealer } from '../kernel/sealing.js';
import { openSealer } from '../kernel/secret-key.js';
import { readSettings, type Settings } from '../kernel/settings.js';
import type { EventLog } from '../log/event-log.js';
import { PostgresEventLog } from '../log/postgres-event-log.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';
import { openSecrets, type SiteSecrets } from '../sites/site-secrets.js';
import { Sites } from '../sites/sites.js';
import type { Output } from './output.js';

/** What the verbs work with: the service's own parts, without the service. */
export interface Opened {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: Sites;
  readonly secrets: SiteSecrets;
  readonly projections: ProjectionRunner;
  readonly sealer: Sealer;
}

/** One run of the command line. The database is opened by the verb that needs it and closed at the end. */
export class Session {
  exitCode = 0;
  private opened: Promise<Opened> | undefined;

  constructor(
    readonly environment: NodeJS.ProcessEnv,
    readonly output: Output,
    /** The person at the keyboard has had enough. */
    readonly stop: AbortSignal,
  ) {}

  open(): Promise<Opened> {
    this.opened ??= this.connect();
    return this.opened;
  }

  async close(): Promise<void> {
    const opened = await this.opened?.catch(() => undefined);
    // Whatever the log thinks of it: a pool that stays open keeps the process from ending.
    await opened?.log.close().catch(() => {});
    await opened?.postgres.close();
  }

  private async connect(): Promise<Opened> {
    const settings = readSettings(this.environment);
    const sealer = openSealer(settings);
    const { databaseUrl, dataDir } = settings;
    const say = (line: string) => this.output.note(line);
    const postgres = await Postgres.open({ databaseUrl, dataDir, onMessage: say });
    const log = new PostgresEventLog(postgres, { onMessage: say });
    const secrets = openSecrets(postgres.pool, sealer, settings);
    const sites = new Sites(log, secrets, 'cli');
    return {
      settings,
      postgres,
      log,
      sites,
      secrets,
      projections: new ProjectionRunner(postgres, allProjections(secrets), say),
      sealer,
    };
  }
}
