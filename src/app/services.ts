import type { ICommandHandler } from '@nestjs/cqrs';
import { Checkpoints } from '../checkpoints/checkpoints.js';
import { SigningKeys } from '../checkpoints/signing-keys.js';
import { ReplayDeliveriesHandler } from '../delivery/replay-deliveries.handler.js';
import type { Logger } from '../kernel/logger.js';
import type { Sealer } from '../kernel/sealing.js';
import type { Settings } from '../kernel/settings/settings.js';
import type { EventLog } from '../log/event-log.js';
import { type LogObserver, PostgresEventLog } from '../log/postgres-event-log.js';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import type { RecentEvents } from '../log/recent-events.js';
import type { Postgres } from '../postgres/postgres.js';
import { SITE_COMMAND_HANDLERS } from '../sites/site-command-handlers.js';
import { SiteRepository } from '../sites/site-repository.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { StateConsentHandler } from '../visitors/change-consent.handler.js';
import { EraseSubjectHandler } from '../visitors/erasure/erase-subject.handler.js';
import { Erasure } from '../visitors/erasure/erasure.js';
import { openErasureList } from '../visitors/erasure/erasure-list.js';
import { copiesDeleter } from './erased-copies.js';
import { allProjections } from './projections.js';

export interface Opened {
  readonly settings: Settings;
  readonly postgres: Postgres;
  readonly sealer: Sealer;
}

interface ServiceOptions {
  readonly logger: Pick<Logger, 'warn' | 'error'>;
  readonly appended?: LogObserver['appended'];
  /** The log and its readers in this process share it. */
  readonly recent?: RecentEvents;
  /** Resolves when the changes of sites that were stored before are in force in the service beside. */
  readonly applied?: (() => Promise<void>) | undefined;
}

export type Services = ReturnType<typeof createServices>;

/** What the service, the management API and the command line have in common. The command line loads no Nest, so this does not. */
export function createServices(opened: Opened, { logger, appended, recent, applied }: ServiceOptions) {
  const { settings, postgres, sealer } = opened;
  const observer = { appended, onMessage: (line: string) => logger.warn(line) };
  const log: EventLog = new PostgresEventLog(postgres, observer, recent, settings.intervals.followMs);
  const secrets = new SiteSecrets(postgres.pool, sealer);
  const sites = new SiteRepository(log, { applied });
  const projections = new ProjectionRunner(postgres, allProjections(secrets), (line) => logger.error(line), recent);
  const erasure = new Erasure(postgres, projections.all, copiesDeleter(postgres, sites));
  const erasureList = openErasureList(settings.erasureList, sealer, postgres.pool);
  const signingKeys = new SigningKeys(postgres.pool, sealer);
  const checkpoints = new Checkpoints(postgres.pool, signingKeys, settings.cell);
  /** Of the commands that more than one of the three execute. */
  const handlers: ICommandHandler[] = [
    ...SITE_COMMAND_HANDLERS.map((Handler) => new Handler(sites, secrets)),
    new ReplayDeliveriesHandler(log),
    new StateConsentHandler(log),
    new EraseSubjectHandler(erasure, erasureList, secrets),
  ];
  return { ...opened, log, secrets, sites, projections, erasure, erasureList, signingKeys, checkpoints, handlers };
}
