import { Global, Module } from '@nestjs/common';
import { Logger } from '../kernel/logger.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { SitesModule } from '../sites/sites.module.js';
import { allProjections } from './projections.js';

@Global()
@Module({
  imports: [SitesModule],
  providers: [
    {
      provide: ProjectionRunner,
      useFactory: (postgres: Postgres, secrets: SiteSecrets, logger: Logger) =>
        new ProjectionRunner(postgres, allProjections(secrets), (line) => logger.error(line)),
      inject: [Postgres, SiteSecrets, Logger],
    },
  ],
  exports: [ProjectionRunner],
})
export class ProjectionsModule {}
