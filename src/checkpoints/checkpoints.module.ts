import { Injectable, Module, type OnApplicationShutdown } from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { Postgres } from '../postgres/postgres.js';
import { CheckpointScheduler } from './checkpoint.scheduler.js';
import { Checkpoints } from './checkpoints.js';

/** Only triggers a check: the database decides whether a checkpoint is due and which instance creates it. */
@Injectable()
export class CheckpointTimer {
  constructor(private readonly scheduler: CheckpointScheduler) {}

  @Interval(10_000)
  check(): void {
    this.scheduler.check();
  }
}

@Module({
  providers: [
    {
      provide: CheckpointScheduler,
      useFactory: (postgres: Postgres, checkpoints: Checkpoints, settings: Settings, logger: Logger) =>
        new CheckpointScheduler(postgres, checkpoints, settings, logger),
      inject: [Postgres, Checkpoints, SETTINGS, Logger],
    },
    CheckpointTimer,
  ],
})
export class CheckpointsModule implements OnApplicationShutdown {
  constructor(private readonly scheduler: CheckpointScheduler) {}

  onApplicationShutdown(): void {
    this.scheduler.stop();
  }
}
