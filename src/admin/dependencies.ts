import { Inject, Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { Sealer } from '../kernel/sealing.js';
import { SETTINGS, type Settings } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { ProjectionRunner } from '../log/projections/projection-runner.js';
import { Postgres } from '../postgres/postgres.js';
import { SiteRepository } from '../sites/site-repository.js';
import { SiteSecrets } from '../sites/site-secrets.js';
import { ErasureList } from '../visitors/erasure/erasure-list.js';

/** The classes that functions shared with the command line take as one object. */
@Injectable()
export class Dependencies {
  constructor(
    @Inject(SETTINGS) readonly settings: Settings,
    readonly postgres: Postgres,
    readonly log: EventLog,
    readonly sites: SiteRepository,
    readonly secrets: SiteSecrets,
    readonly projections: ProjectionRunner,
    readonly commands: CommandBus,
    readonly sealer: Sealer,
    readonly erasureList: ErasureList,
  ) {}
}
