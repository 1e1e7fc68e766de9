import { messageOf } from '../../kernel/errors.js';
import { readSettings, type Settings } from '../../kernel/settings.js';
import { describeUnknownSetting, findUnknownSettings } from '../../kernel/unknown-settings.js';
import type { CliDependencies, Session } from '../session.js';
import { type Check, check } from './check.js';
import { appendOnly, checkpoints, clock, database, durability, partitions, schema } from './database-checks.js';
import { deliveries, kafka, owed, webhooks } from './delivery-checks.js';
import { disk, node, secretFiles } from './machine-checks.js';
import { retention } from './retention-check.js';
import { service } from './service-check.js';
import { dedupClaims, erasures, projections, secrets } from './state-checks.js';

/** Skips the checks that depend on a failed one, so that one cause is reported once. */
export async function runChecks(session: Session): Promise<Check[]> {
  const checks: Check[] = [await check('node', node)];
  let settings: Settings;
  try {
    settings = readSettings(session.environment);
    const database = settings.databaseUrl ? 'database of DATABASE_URL' : `embedded database in ${settings.dataDir}`;
    const unknown = findUnknownSettings(session.environment).map(describeUnknownSetting);
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
  if (!settings.databaseUrl) {
    checks.push(await check('disk', () => disk(settings.dataDir)));
    checks.push(await check('secret files', () => secretFiles(settings.dataDir)));
  }
  checks.push(await check('service', () => service(settings)));
  return checks;
}

async function runDatabaseChecks(dependencies: CliDependencies): Promise<Check[]> {
  const checks = [
    await check('durability', () => durability(dependencies)),
    await check('schema', () => schema(dependencies)),
    await check('append-only', () => appendOnly(dependencies)),
    await check('partitions', () => partitions(dependencies)),
    await check('checkpoints', () => checkpoints(dependencies)),
    await check('claims', () => dedupClaims(dependencies)),
    await check('projections', () => projections(dependencies)),
    await check('deliveries', () => deliveries(dependencies)),
    await check('owed', () => owed(dependencies)),
    await check('webhooks', () => webhooks(dependencies)),
    await check('kafka', () => kafka(dependencies)),
    await check('retention', () => retention(dependencies)),
    await check('clock', () => clock(dependencies)),
    await check('erasures', () => erasures(dependencies)),
  ];
  // Only relevant during a key rotation, or when a secret cannot be opened.
  const sealed = await check('secrets', () => secrets(dependencies));
  if (!sealed.ok || dependencies.settings.secretKeyPrevious) checks.push(sealed);
  return checks;
}
