import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { AdminProcess } from './app/admin-process.js';
import { bannerText } from './app/banner.js';
import { isPersonsTerminal } from './app/main-terminal.js';
import { unsupportedNodeText } from './app/node-support.js';
import { recordVersion } from './app/record-version.js';
import { startService } from './app/service.js';
import { messageOf, UserError } from './kernel/errors.js';
import { withLogTimeout } from './kernel/log-timeout.js';
import { Logger } from './kernel/logger.js';
import { onParentEnd } from './kernel/parent-process.js';
import { productVersion } from './kernel/product-version.js';
import { readSettings } from './kernel/settings/settings.js';
import { describeUnknownSetting, findUnknownSettings } from './kernel/settings/unknown-settings.js';
import { Shutdown } from './kernel/shutdown.js';
import { EventLog } from './log/event-log.js';
import { SIGN_IN_PLATFORMS } from './platforms/index.js';
import { SiteDirectory } from './sites/site-directory.js';

// Requests in flight are promoted to the old generation and die soon after. Collecting at 1.5 times the live heap instead of
// V8's several times keeps the process about 50 MB smaller under load; the cost was within the noise.
setFlagsFromString('--heap-growing-percent=50');

/** On a terminal the banner begins with a link to the management API, which works by then. */
const BANNER_WITHIN_MS = 15_000;

// npm and npx run commands in a shell. A signal to npm ends the shell, which on Debian does not pass it on to this process.
if (['start', 'npx'].includes(process.env['npm_lifecycle_event'] ?? ''))
  onParentEnd(() => process.kill(process.pid, 'SIGTERM'));

try {
  for (const unknown of findUnknownSettings(process.env, SIGN_IN_PLATFORMS))
    process.stderr.write(`${describeUnknownSetting(unknown)}\n`);
  const settings = readSettings(process.env, SIGN_IN_PLATFORMS);
  const { app, banner } = await startService(settings);
  // It already accepts conversions, and does so whether or not this succeeds.
  await withLogTimeout(recordVersion(app.get(EventLog), productVersion())).catch((error: unknown) =>
    app.get(Logger).warn(`The start of this version may not be recorded: ${messageOf(error)}`),
  );
  let isShown = false;
  const show = (firstLink?: string) => {
    isShown = true;
    process.stdout.write(bannerText(banner, firstLink) + unsupportedNodeText(process.versions.node));
  };
  // Only on a terminal: what is piped or collected as a log must not contain the link.
  const hasLink = settings.adminPort !== undefined && isPersonsTerminal();
  if (hasLink)
    setTimeout(() => {
      if (!isShown) show();
    }, BANNER_WITHIN_MS).unref();
  else show();
  if (settings.adminPort !== undefined) {
    const admin = new AdminProcess({
      script: new URL('./admin-main.js', import.meta.url),
      logger: app.get(Logger),
      graceMs: settings.shutdownGraceMs,
      ...(settings.port === 0 && { servicePort: new URL(banner.url).port }),
      applyChanges: () => app.get(SiteDirectory).refresh(),
      onListening: hasLink
        ? (link) => {
            if (!isShown || link !== undefined) show(link);
          }
        : undefined,
    });
    app.get(Shutdown).accompany(() => admin.stop());
    admin.start();
  }
} catch (error) {
  // One line for an error that the user can fix; a stack trace only for a bug.
  process.stderr.write(
    `${error instanceof UserError ? messageOf(error) : ((error as Error).stack ?? messageOf(error))}\n`,
  );
  process.exit(1);
}
