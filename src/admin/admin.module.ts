import {
  type DynamicModule,
  Global,
  Module,
  type OnApplicationShutdown,
  StandardSchemaSerializerInterceptor,
  StandardSchemaValidationPipe,
} from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR, APP_PIPE, Reflector } from '@nestjs/core';
import { CqrsModule } from '@nestjs/cqrs';
import { createServices } from '../app/services.js';
import { provideServices } from '../app/services.providers.js';
import { OauthApps } from '../authorizations/oauth-apps.js';
import { PlatformSignIns } from '../authorizations/platform-sign-ins.js';
import { Logger } from '../kernel/logger.js';
import type { Sealer } from '../kernel/sealing.js';
import type { Settings } from '../kernel/settings/settings.js';
import { EventLog } from '../log/event-log.js';
import { Postgres } from '../postgres/postgres.js';
// The entities that the controllers read: TypeORM knows only those that are imported when it starts.
import '../sites/keys/key-usage-row.js';
import '../sites/site-row.js';
import { UsersModule } from '../users/users.module.js';
import { AccessGuard } from './access/access.guard.js';
import { Credentials } from './access/credentials.js';
import { KnownBrowsers } from './access/known-browsers.js';
import { ProviderCheck } from './access/provider-check.js';
import { SameHost } from './access/same-host.js';
import { SessionController } from './access/session.controller.js';
import { SignInController } from './access/sign-in.controller.js';
import { SignInProvider } from './access/sign-in-provider.js';
import { TokensController } from './access/tokens.controller.js';
import { UsersController } from './access/users.controller.js';
import { ArrivalController } from './arrival.controller.js';
import { AlertsController } from './attention/alerts.controller.js';
import { AttentionController } from './attention/attention.controller.js';
import { AuditController } from './audit.controller.js';
import { CellsController } from './cells.controller.js';
import { ConversionsController } from './conversions/conversions.controller.js';
import { DeliveriesController } from './conversions/deliveries.controller.js';
import { DeliveryRequestController } from './conversions/delivery-request.controller.js';
import { TestConversionController } from './conversions/test-conversion.controller.js';
import { DefinitionsController } from './definitions.controller.js';
import { Dependencies } from './dependencies.js';
import { ErasuresController } from './erasures.controller.js';
import { EventStreamController } from './events/event-stream.controller.js';
import { EventStreams } from './events/event-streams.js';
import { EventsController } from './events/events.controller.js';
import { HealthController } from './health.controller.js';
import { IdempotencyInterceptor } from './idempotency.interceptor.js';
import { InstallationController } from './installation.controller.js';
import { JobsController } from './jobs/jobs.controller.js';
import { JOB_PROVIDERS } from './jobs/jobs.providers.js';
import { InvalidRequest, ProblemFilter } from './problem.filter.js';
import { ProjectionRebuilds } from './projection-rebuilds.js';
import { ConnectionsController } from './sites/connections.controller.js';
import { KeysController } from './sites/keys.controller.js';
import { OauthAppsController } from './sites/oauth-apps.controller.js';
import { PlatformSignInController } from './sites/platform-sign-in.controller.js';
import { PreviewController } from './sites/preview.controller.js';
import { SettingsPreviewController } from './sites/settings-preview.controller.js';
import { SitesController } from './sites/sites.controller.js';
import { SourcesController } from './sites/sources.controller.js';
import { TagController } from './sites/tag.controller.js';
import { WebhookController } from './sites/webhook.controller.js';
import { StatisticsController } from './statistics.controller.js';

export interface AdminOptions {
  readonly settings: Settings;
  readonly logger: Logger;
  readonly sealer: Sealer;
  readonly postgres: Postgres;
  /** Resolves when the service beside has applied the changes of sites that were stored before. Undefined: there is none. */
  readonly applied?: (() => Promise<void>) | undefined;
}

/** What the controllers use. */
@Global()
@Module({})
class AdminKernelModule implements OnApplicationShutdown {
  static with({ settings, logger, sealer, postgres, applied }: AdminOptions): DynamicModule {
    const services = createServices({ settings, postgres, sealer }, { logger, applied });
    const providers = [
      ...provideServices(services),
      { provide: Logger, useValue: logger },
      { provide: OauthApps, useValue: new OauthApps(postgres, sealer, settings) },
      { provide: PlatformSignIns, useValue: new PlatformSignIns(postgres, sealer) },
      { provide: SameHost, useValue: new SameHost(settings) },
    ];
    return { module: AdminKernelModule, providers, exports: providers.map(({ provide }) => provide) };
  }

  constructor(
    private readonly log: EventLog,
    private readonly postgres: Postgres,
  ) {}

  async onApplicationShutdown(): Promise<void> {
    await this.log.close();
    await this.postgres.close();
  }
}

/** The management API. It has a listener of its own, which the public one knows nothing of. */
@Module({
  imports: [CqrsModule, UsersModule],
  controllers: [
    SessionController,
    SignInController,
    UsersController,
    TagController,
    TokensController,
    AuditController,
    SitesController,
    CellsController,
    ArrivalController,
    InstallationController,
    KeysController,
    OauthAppsController,
    DefinitionsController,
    PlatformSignInController,
    WebhookController,
    EventStreamController,
    EventsController,
    ConnectionsController,
    AlertsController,
    AttentionController,
    HealthController,
    SettingsPreviewController,
    StatisticsController,
    ConversionsController,
    TestConversionController,
    DeliveriesController,
    DeliveryRequestController,
    PreviewController,
    SourcesController,
    ErasuresController,
    JobsController,
  ],
  providers: [
    Credentials,
    Dependencies,
    EventStreams,
    KnownBrowsers,
    ProjectionRebuilds,
    ProviderCheck,
    ...JOB_PROVIDERS,
    SignInProvider,
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_GUARD, useClass: AccessGuard },
    { provide: APP_INTERCEPTOR, useClass: IdempotencyInterceptor },
    {
      provide: APP_INTERCEPTOR,
      useFactory: (reflector: Reflector) => new StandardSchemaSerializerInterceptor(reflector),
      inject: [Reflector],
    },
    {
      provide: APP_PIPE,
      useValue: new StandardSchemaValidationPipe({
        exceptionFactory: (issues) =>
          new InvalidRequest(
            issues.map(({ path = [], message }) => ({
              field: path.map((part) => String(typeof part === 'object' ? part.key : part)).join('.'),
              message,
            })),
          ),
      }),
    },
  ],
})
export class AdminModule {
  static with(options: AdminOptions): DynamicModule {
    return { module: AdminModule, imports: [AdminKernelModule.with(options)] };
  }
}
