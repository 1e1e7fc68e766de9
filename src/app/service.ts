import { NestFactory } from '@nestjs/core';
import { CommandBus } from '@nestjs/cqrs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { Registry } from 'prom-client';
import { HotRoutes } from '../http/hot-routes.js';
import { createAdapter } from '../http/http-adapter.js';
import { Logger } from '../kernel/logger.js';
import { openSealer } from '../kernel/secret-key.js';
import type { Settings } from '../kernel/settings/settings.js';
import { Shutdown } from '../kernel/shutdown.js';
import { measureAppends, measureReaders } from '../log/log-metrics.js';
import { RecentEvents } from '../log/recent-events.js';
import { serveDocuments } from '../operations/documents.js';
import { Postgres } from '../postgres/postgres.js';
import { recordKey } from '../sites/keys/key-check.js';
import { SiteDirectory } from '../sites/site-directory.js';
import { openTracing } from '../tracing/open-tracing.js';
import { hasUsers } from '../users/first-administrator.js';
import { AppModule } from './app.module.js';
import { type BannerContent, type Demo, dashboardUrl, type Missing } from './banner.js';
import { connectDemoPlatforms, startDemoSandbox } from './demo-sandbox.js';
import { ensureDemoSite } from './demo-site.js';
import { isPersonsTerminal } from './main-terminal.js';
import { describeListenError, reservePort } from './reserved-port.js';
import { createServices } from './services.js';
import { logDestination } from './terminal-log.js';

/** A restart of PostgreSQL, also after a crash, is over by then. */
const DATABASE_WAIT_MS = 60_000;
/** The data fields that are read by `EventLog.readFields`. Others would be read from the database. */
const FIELDS_READ = ['platform', 'platforms'];

export interface RunningService {
  readonly app: NestFastifyApplication;
  readonly banner: BannerContent;
}

export async function startService(settings: Settings): Promise<RunningService> {
  const logger = new Logger(settings.logLevel, logDestination());
  const { databaseUrl, dataDir } = settings;
  const freePort = await reservePort(settings);
  const sealer = openSealer(settings);
  const postgres = await Postgres.open({
    databaseUrl,
    dataDir,
    onMessage: (line) => process.stderr.write(`${line}\n`),
    waitMs: DATABASE_WAIT_MS,
    ownsDataDir: true,
  });
  await closingOnError(postgres, recordKey(postgres.pool, sealer));
  const tracing = await closingOnError(postgres, openTracing(settings, logger));
  const hotRoutes = new HotRoutes();
  const shutdown = new Shutdown(settings.shutdownGraceMs);
  const registry = new Registry();
  // The relay publishes whole events.
  const recent = new RecentEvents(settings.kafkaBrokers ? 'all' : FIELDS_READ);
  const appended = measureAppends(registry);
  const services = createServices({ settings, postgres, sealer }, { logger, appended, recent });
  measureReaders(registry, services.log);
  const app = await closingOnError(
    postgres,
    NestFactory.create<NestFastifyApplication>(
      AppModule.with({ services, logger, hotRoutes, shutdown, tracing, registry, recent }),
      createAdapter(settings, hotRoutes),
      { logger, abortOnError: false },
    ),
  );
  // On a signal the process exits with 0 after every request is answered and every module has stopped, or at the deadline.
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => shutdown.beginAndExit());
  app.enableShutdownHooks(undefined, { useProcessExit: true });
  serveDocuments(app);
  const sandbox = databaseUrl || !settings.demoPlatforms ? undefined : startDemoSandbox(dataDir);
  await app.init();
  try {
    await freePort();
    await app.listen(settings.port, settings.host).catch((error: unknown) => {
      throw describeListenError(error, settings);
    });
    const demo = databaseUrl ? undefined : await prepareDemo(app, dataDir, await sandbox);
    const missing = await missingIn(app, settings);
    const { cliCommand } = settings;
    return {
      app,
      banner: { url: await app.getUrl(), demo, dashboardUrl: dashboardUrl(settings), missing, cliCommand },
    };
  } catch (error) {
    await app.close();
    throw error;
  }
}

/** The caller reports the error. An embedded server must not keep running. */
function closingOnError<Result>(postgres: Postgres, step: Promise<Result>): Promise<Result> {
  return step.catch(async (error: unknown) => {
    await postgres.close();
    throw error;
  });
}

async function missingIn(
  app: NestFastifyApplication,
  { adminPort, adminPassword, oidcIssuer }: Settings,
): Promise<Missing> {
  // On a terminal a link is shown; ADMIN_PASSWORD adds the first user, and a provider any of its users.
  const needsUsers =
    adminPort !== undefined && adminPassword === undefined && oidcIssuer === undefined && !isPersonsTerminal();
  return {
    sites: app.get(SiteDirectory).all().length === 0,
    users: needsUsers && !(await hasUsers(app.get(Postgres))),
  };
}

/** A demo site, in embedded mode only. After the service listens: a start that fails must not change the site. */
async function prepareDemo(
  app: NestFastifyApplication,
  dataDir: string,
  sandboxUrl: string | undefined,
): Promise<Demo> {
  const directory = app.get(SiteDirectory);
  const commands = app.get(CommandBus);
  const key = await ensureDemoSite(dataDir, commands, directory);
  if (sandboxUrl) await connectDemoPlatforms(dataDir, sandboxUrl, commands, directory);
  return { key, sandboxUrl };
}
