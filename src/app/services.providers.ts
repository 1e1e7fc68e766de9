import type { FactoryProvider, ValueProvider } from '@nestjs/common';
import { Checkpoints } from '../checkpoints/checkpoints.js';
import { CLOCK } from '../kernel/clock.js';
import { provideCommandHandlers } from '../kernel/command-handler.provider.js';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteRepository } from '../sites/site-repository.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { Erasure } from '../visitors/erasure/erasure.js';
import { ErasureList } from '../visitors/erasure/erasure-list.js';
import type { Services } from './services.js';

/** Of all `Services` as one object. */
export const SERVICES = Symbol('SERVICES');

/** For the injector of Nest, in the service and in the management API. */
export function provideServices(services: Services): (ValueProvider | FactoryProvider)[] {
  return [
    { provide: SERVICES, useValue: services },
    { provide: SETTINGS, useValue: services.settings },
    { provide: Sealer, useValue: services.sealer },
    { provide: Postgres, useValue: services.postgres },
    { provide: CLOCK, useValue: services.postgres.clock },
    { provide: EventLog, useValue: services.log },
    { provide: ProjectionRunner, useValue: services.projections },
    { provide: SiteSecrets, useValue: services.secrets },
    { provide: SiteRepository, useValue: services.sites },
    { provide: Erasure, useValue: services.erasure },
    { provide: ErasureList, useValue: services.erasureList },
    { provide: Checkpoints, useValue: services.checkpoints },
    ...provideCommandHandlers(services.handlers),
  ];
}
