import { Global, Module } from '@nestjs/common';
import { dedupProjection } from './conversions/dedup-projection.js';
import { Logger } from './kernel/logger.js';
import type { Projection } from './log/projection.js';
import { ProjectionRunner } from './log/projection-runner.js';
import { Postgres } from './postgres/postgres.js';
import { authFailuresProjection, keyUsageProjection, sitesProjection } from './sites/site-projections.js';
import { SiteSecrets } from './sites/site-secrets.js';
import { SitesModule } from './sites/sites.module.js';

/** Every projection there is. The service keeps them current; the command line rebuilds them and catches them up. */
export function allProjections(secrets: SiteSecrets): Projection[] {
  return [sitesProjection, dedupProjection(secrets), authFailuresProjection, keyUsageProjection];
}

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
