import 'reflect-metadata';
import { type RunningAdmin, startAdmin, stopAdmin } from './admin/admin.js';
import { type AdminMessage, STOPPED_WITHIN, WITH_FIRST_LINK } from './app/admin-process.js';
import { appliedChanges } from './app/applied-changes.js';
import { logDestination } from './app/terminal-log.js';
import { messageOf } from './kernel/errors.js';
import { Logger } from './kernel/logger.js';
import { openSealer } from './kernel/secret-key.js';
import { readSettings, type Settings } from './kernel/settings/settings.js';
import { SIGN_IN_PLATFORMS } from './platforms/index.js';
import { Postgres } from './postgres/postgres.js';
import { FirstAdministrator } from './users/first-administrator.js';
import { signInLink } from './users/user-document.js';

// A process of its own: a search, an export or a password that is hashed must not delay conversions or use their memory.

/** Its low priority makes this process slow while conversions need all processors: it then answers late instead of not at all. */
const CONNECT_WITHIN_MS = 20_000;

// The service decides when this process stops: Ctrl-C in a terminal and a supervisor's signals reach both.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.once('uncaughtException', (error) => void fail(error.stack ?? messageOf(error)));

// The service ended while this file was loaded.
if (!process.connected) process.exit(0);
/** The channel closes when the service stops this process, and also when the service was killed. */
const serviceEnded = new Promise<void>((resolve) => process.once('disconnect', resolve));

try {
  await run();
  process.exit(0);
} catch (error) {
  await fail(messageOf(error));
}

async function run(): Promise<void> {
  const settings = readSettings(process.env, SIGN_IN_PLATFORMS);
  const { databaseUrl, standby, dataDir, shutdownGraceMs } = settings;
  // Whatever is being waited for: a database that does not answer, or a request.
  void serviceEnded.then(() => setTimeout(() => process.exit(1), shutdownGraceMs * STOPPED_WITHIN));
  const logger = new Logger(settings.logLevel, logDestination());
  const postgres = await Postgres.open({
    databaseUrl,
    standby,
    dataDir,
    onMessage: (line) => logger.warn(line),
    connectWithinMs: CONNECT_WITHIN_MS,
  });
  const applied = appliedChanges(process);
  const admin = await startAdmin({ settings, logger, sealer: openSealer(settings), postgres, applied });
  await report({ kind: 'listening', url: admin.url, firstLink: await prepareFirstAdministrator(admin, settings) });
  await serviceEnded;
  await stopAdmin(admin, shutdownGraceMs);
}

/** With ADMIN_PASSWORD adds the first administrator; otherwise returns a link for a terminal, if there is no user. */
async function prepareFirstAdministrator({ app, url }: RunningAdmin, settings: Settings): Promise<string | undefined> {
  const first = app.get(FirstAdministrator, { strict: false });
  const { adminEmail, adminPassword } = settings;
  if (adminPassword !== undefined) await first.add(adminEmail, adminPassword);
  else if (process.argv.includes(WITH_FIRST_LINK)) {
    const secret = await first.createLink();
    if (secret !== undefined) return signInLink(url, secret);
  }
  return undefined;
}

async function fail(reason: string): Promise<never> {
  await report({ kind: 'failed', reason });
  process.exit(1);
}

/** Resolves when the service has the message, or is gone. */
function report(message: AdminMessage): Promise<void> {
  return new Promise((resolve) => {
    if (process.connected) process.send?.(message, () => resolve());
    else resolve();
  });
}
