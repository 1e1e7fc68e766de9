import {
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleInit,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Gauge, Histogram, Registry } from 'prom-client';
import { messageOf } from '../kernel/errors.js';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings.js';
import { Shutdown } from '../kernel/shutdown.js';
import { Postgres } from '../postgres/postgres.js';
import { EventLog } from './event-log.js';
import { keepPartitionsAhead } from './partitions.js';
import { type LogObserver, PostgresEventLog } from './postgres-event-log.js';
import type { Projection } from './projection.js';
import { ProjectionRunner } from './projection-runner.js';
import { RecentEvents } from './recent-events.js';

/** The list of projections, which a global module above the folders that define them provides. */
export const PROJECTIONS = Symbol('PROJECTIONS');

/** The data fields that are read by `EventLog.readFields`. Others would be read from the database. */
const FIELDS_READ = ['platform', 'platforms'];

function openLog(
  postgres: Postgres,
  recent: RecentEvents,
  registry: Registry,
  logger: Logger,
  settings: Settings,
): EventLog {
  const batchSize = new Histogram({
    name: 'cc_log_append_batch_size',
    help: 'Events per commit',
    buckets: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'cc_log_append_seconds',
    help: 'Duration of an append, from sending the batch to its commit',
    buckets: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5],
    registers: [registry],
  });
  const observer: LogObserver = {
    appended: (events, seconds) => {
      batchSize.observe(events);
      duration.observe(seconds);
    },
    onMessage: (line) => logger.warn(line),
  };
  const log = new PostgresEventLog(postgres, observer, recent, settings.intervals.followMs);
  new Gauge({
    name: 'cc_log_tail_lag_events',
    help: 'Positions between a reader and the head of the log, as of its last read',
    labelNames: ['reader'],
    registers: [registry],
    collect() {
      for (const reader of log.readers()) this.set({ reader: reader.name }, reader.lag);
    },
  });
  return log;
}

/** Creates partitions ahead of the log. A database lock lets one instance run at a time. */
@Injectable()
export class PartitionMaintenance implements OnModuleInit {
  constructor(
    private readonly postgres: Postgres,
    private readonly logger: Logger,
  ) {}

  /** The service starts without it: there are partitions ahead as a rule, and /readyz reports if there are none. */
  async onModuleInit(): Promise<void> {
    await this.run();
  }

  @Interval(60_000)
  async run(): Promise<void> {
    try {
      await keepPartitionsAhead(this.postgres);
    } catch (error) {
      this.logger.warn('Partition maintenance failed; retrying in 60 s', { error: messageOf(error) });
    }
  }
}

@Module({
  providers: [
    {
      provide: RecentEvents,
      // The relay publishes whole events.
      useFactory: ({ kafkaBrokers }: Settings) => new RecentEvents(kafkaBrokers ? 'all' : FIELDS_READ),
      inject: [SETTINGS],
    },
    { provide: EventLog, useFactory: openLog, inject: [Postgres, RecentEvents, Registry, Logger, SETTINGS] },
    {
      provide: ProjectionRunner,
      useFactory: (postgres: Postgres, projections: Projection[], recent: RecentEvents, logger: Logger) =>
        new ProjectionRunner(postgres, projections, (line) => logger.error(line), recent),
      inject: [Postgres, PROJECTIONS, RecentEvents, Logger],
    },
    PartitionMaintenance,
  ],
  exports: [EventLog, ProjectionRunner, RecentEvents],
})
export class LogModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(
    private readonly log: EventLog,
    private readonly projections: ProjectionRunner,
    private readonly shutdown: Shutdown,
    @Inject(SETTINGS) private readonly settings: Settings,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.projections.start(this.settings.intervals.foldMs);
  }

  async onApplicationShutdown(): Promise<void> {
    await this.shutdown.within(this.projections.stop(), 0.1);
    await this.shutdown.within(this.log.close(), 0.05);
  }
}
