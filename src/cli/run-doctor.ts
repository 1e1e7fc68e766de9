import { type Check, check } from '../app/doctor/check.js';
import { database } from '../app/doctor/database-checks.js';
import { node } from '../app/doctor/machine-checks.js';
import { runDatabaseChecks, runMachineChecks } from '../app/doctor/run-checks.js';
import { messageOf } from '../kernel/errors.js';
import { readSettings, type Settings } from '../kernel/settings/settings.js';
import { describeUnknownSetting, findUnknownSettings } from '../kernel/settings/unknown-settings.js';
import { SIGN_IN_PLATFORMS } from '../platforms/index.js';
import type { CliDependencies, Session } from './session.js';

/** Skips the checks that depend on a failed one, so that one cause is reported once. */
export async function runDoctor(session: Session): Promise<Check[]> {
  const checks: Check[] = [await check('node', node)];
  let settings: Settings;
  try {
    settings = readSettings(session.environment, SIGN_IN_PLATFORMS);
    const database = settings.databaseUrl ? 'database of DATABASE_URL' : `embedded database in ${settings.dataDir}`;
    const unknown = findUnknownSettings(session.environment, SIGN_IN_PLATFORMS).map(describeUnknownSetting);
    checks.push({ name: 'settings', ok: true, detail: [database, ...unknown].join('; ') });
  } catch (error) {
    const fix = 'Fix this setting and run "doctor" again.';
    return [...checks, { name: 'settings', ok: false, detail: messageOf(error), fix }];
  }

  let dependencies: CliDependencies | undefined;
  checks.push(
    await check('database', async () => {
      dependencies = await session.openWithAnyKey();
      return database(dependencies);
    }),
  );
  if (dependencies) checks.push(...(await runDatabaseChecks(dependencies)));
  return [...checks, ...(await runMachineChecks(settings))];
}
