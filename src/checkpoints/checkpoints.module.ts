import { Module } from '@nestjs/common';
import { Logger } from '../kernel/logger.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { Postgres } from '../postgres/postgres.js';
import { CheckpointScheduler } from './checkpoint.scheduler.js';
import { Checkpoints } from './checkpoints.js';

@Module({
  providers: [
    {
      provide: CheckpointScheduler,
      useFactory: (postgres: Postgres, checkpoints: Checkpoints, settings: Settings, logger: Logger) =>
        new CheckpointScheduler(postgres, checkpoints, settings, logger),
      inject: [Postgres, Checkpoints, SETTINGS, Logger],
    },
  ],
})
export class CheckpointsModule {}
