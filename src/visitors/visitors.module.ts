import { Inject, Module, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { DeliveryModule } from '../delivery/delivery.module.js';
import { ageOf } from '../delivery/received-conversion.js';
import { sendableUntilMs } from '../delivery/retry-schedule.js';
import { provideCommandHandler } from '../kernel/command-handler.provider.js';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import { platformOfConnection } from '../platforms/index.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { SitesModule } from '../sites/sites.module.js';
import { loadBotList } from './bots/bot-list.js';
import { BotScorer } from './bots/bot-scorer.js';
import { ChangeConsentHandler } from './change-consent.handler.js';
import { ErasureListRotation } from './erasure/erasure-list-rotation.js';
import { IdentifierPruner } from './identifier-pruner.js';
import { KnownSubjects } from './known-subjects.js';
import { LateMatches } from './late-matches.js';
import { LookupMetrics } from './lookup-metrics.js';
import { Matcher } from './matcher.js';
import { RecordVisitHandler } from './record-visit.handler.js';
import { TagEndpoints } from './tag/tag.endpoints.js';
import { TagMetrics } from './tag/tag-metrics.js';
import { TagScriptEndpoint } from './tag/tag-script.endpoint.js';

const WARN_EVERY_MS = 10_000;

@Module({
  imports: [CqrsModule, SitesModule, DeliveryModule],
  providers: [
    {
      provide: BotScorer,
      useFactory: (settings: Settings) => new BotScorer(loadBotList(settings.botList)),
      inject: [SETTINGS],
    },
    {
      provide: KnownSubjects,
      useFactory: (postgres: Postgres, log: EventLog) => new KnownSubjects(postgres, log),
      inject: [Postgres, EventLog],
    },
    {
      provide: Matcher,
      useFactory: (postgres: Postgres, logger: Logger, known: KnownSubjects) =>
        new Matcher(postgres, throttledWarning(logger), known),
      inject: [Postgres, Logger, KnownSubjects],
    },
    {
      provide: LateMatches,
      useFactory: makeLateMatches,
      inject: [Postgres, EventLog, SiteDirectory, Matcher, ProjectionRunner, SETTINGS],
    },
    provideCommandHandler(RecordVisitHandler, [EventLog, BotScorer]),
    provideCommandHandler(ChangeConsentHandler, [EventLog]),
    TagEndpoints,
    TagScriptEndpoint,
    TagMetrics,
    LookupMetrics,
    IdentifierPruner,
    ErasureListRotation,
  ],
  exports: [Matcher, BotScorer],
})
export class VisitorsModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly lateMatches: LateMatches,
    private readonly known: KnownSubjects,
    private readonly matcher: Matcher,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  onApplicationBootstrap(): void {
    this.lateMatches.start(this.settings.intervals.lateMatchMs);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.lateMatches.stop();
    await this.known.stop();
    await this.matcher.close();
  }
}

/** At most one warning per interval: while the database is unavailable every lookup fails. */
function throttledWarning(logger: Logger): (error: unknown) => void {
  let silentUntil = 0;
  return (error) => {
    if (performance.now() < silentUntil) return;
    silentUntil = performance.now() + WARN_EVERY_MS;
    logger.warn('Visit lookup failed; conversions continue without visit data', { error: messageOf(error) });
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
  return new LateMatches(postgres, log, directory, matcher, {
    platform: platformOfConnection,
    unmatchedPosition: () => projections.position('unmatched'),
    sendableUntilMs: (received, platform, settings) =>
      sendableUntilMs(ageOf(received), platform.limits?.(settings, received.data) ?? {}, rules),
    identifierTtlMs: settings.identifierTtlMs,
    clock: postgres.clock,
  });
}
