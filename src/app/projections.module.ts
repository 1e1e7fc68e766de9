import { Global, Module } from '@nestjs/common';
import { PROJECTIONS } from '../log/log.module.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { SitesModule } from '../sites/sites.module.js';
import { allProjections } from './projections.js';

/** Global, because the log runs the projections and may not import the folders that define them. */
@Global()
@Module({
  imports: [SitesModule],
  providers: [{ provide: PROJECTIONS, useFactory: allProjections, inject: [SiteSecrets] }],
  exports: [PROJECTIONS],
})
export class ProjectionsModule {}
