import { Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { sendableForMs } from '../delivery/retry-schedule.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { EventLog } from '../log/event-log.js';
import { LogModule } from '../log/log.module.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { platformOf } from '../platforms/index.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { SitesModule } from '../sites/sites.module.js';
import { BotJudge, loadBotList } from './bots/judge.js';
import { IdentifierPruner } from './identifier-pruner.js';
import { LateMatches } from './late-matches.js';
import { Matcher } from './matcher.js';
import { TagEndpoints } from './tag.endpoints.js';
import { TagMetrics } from './tag-metrics.js';
import { TagScriptEndpoint } from './tag-script.endpoint.js';

const WARN_EVERY_MS = 10_000;

@Module({
  imports: [LogModule, SitesModule, DeliveryModule],
  providers: [
    {
      provide: BotJudge,
      useFactory: (settings: Settings) => new BotJudge(loadBotList(settings.botList)),
      inject: [SETTINGS],
    },
    {
      provide: Matcher,
      useFactory: (postgres: Postgres, logger: Logger) => new Matcher(postgres, warning(logger)),
      inject: [Postgres, Logger],
    },
    {
      provide: LateMatches,
      useFactory: makeLateMatches,
      inject: [Postgres, EventLog, SiteDirectory, Matcher, ProjectionRunner, SETTINGS],
    },
    TagEndpoints,
    TagScriptEndpoint,
    TagMetrics,
    IdentifierPruner,
  ],
  exports: [Matcher, BotJudge],
})
export class VisitorsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly lateMatches: LateMatches,
    private readonly matcher: Matcher,
  ) {}

  onApplicationBootstrap(): void {
    this.lateMatches.start();
  }

  async onApplicationShutdown(): Promise<void> {
    await this.lateMatches.stop();
    await this.matcher.close();
  }
}

/** Now and then: while the database is away every look-up fails. */
function warning(logger: Logger): (error: unknown) => void {
  let quietUntil = 0;
  return (error) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + WARN_EVERY_MS;
    logger.warn('Visits could not be looked up: conversions go on without them', { error: messageOf(error) });
  };
}

function makeLateMatches(
  postgres: Postgres,
  log: EventLog,
  directory: SiteDirectory,
  matcher: Matcher,
  projections: ProjectionRunner,
  settings: Settings,
): LateMatches {
  const rules = { scheduleMs: settings.deliveryRetryScheduleMs, giveUpMs: settings.deliveryGiveUpMs };
  return new LateMatches(postgres.pool, log, directory, matcher, {
    platform: platformOf,
    foldUnmatched: () => projections.catchUp('unmatched'),
    sendableForMs: (platform) => sendableForMs(platform, rules),
    keptMs: settings.identifierTtlMs,
  });
}
