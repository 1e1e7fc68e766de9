import type { Settings } from '../../kernel/settings/settings.js';
import { attention } from './attention-check.js';
import { cells } from './cells-check.js';
import { type Check, check, type DoctorDependencies, type Finding } from './check.js';
import { appendOnly, checkpoints, clock, database, durability, partitions, schema } from './database-checks.js';
import { deliveries, kafka, owed, webhooks } from './delivery-checks.js';
import { disk, node, secretFiles } from './machine-checks.js';
import { retention } from './retention-check.js';
import { service } from './service-check.js';
import { standby } from './standby-check.js';
import { standbyReads } from './standby-reads-check.js';
import { dedupClaims, erasures, projections, secrets } from './state-checks.js';

type Examine = (dependencies: DoctorDependencies) => Promise<Finding>;

const DATABASE_CHECKS: readonly (readonly [string, Examine])[] = [
  ['durability', durability],
  ['standby', standby],
  ['schema', schema],
  ['append-only', appendOnly],
  ['partitions', partitions],
  ['checkpoints', checkpoints],
  ['claims', dedupClaims],
  ['projections', projections],
  ['deliveries', deliveries],
  ['owed', owed],
  ['webhooks', webhooks],
  ['attention', attention],
  ['kafka', kafka],
  ['cells', cells],
  ['retention', retention],
  ['clock', clock],
  ['erasures', erasures],
];

/** All checks of a service whose settings are valid and whose database is open. They take this long at most. */
export async function runChecks(dependencies: DoctorDependencies, withinMs: number): Promise<Check[]> {
  const untilMs = performance.now() + withinMs;
  const leftMs = () => Math.max(0, untilMs - performance.now());
  return [
    await check('node', node),
    await check('database', () => database(dependencies), leftMs()),
    ...(await runDatabaseChecks(dependencies, leftMs)),
    ...(await runMachineChecks(dependencies.settings, leftMs)),
  ];
}

export async function runDatabaseChecks(dependencies: DoctorDependencies, leftMs?: () => number): Promise<Check[]> {
  const checks: Check[] = [];
  for (const [name, examine] of DATABASE_CHECKS)
    checks.push(await check(name, () => examine(dependencies), leftMs?.()));
  if (dependencies.settings.standby)
    checks.push(await check('standby reads', () => standbyReads(dependencies), leftMs?.()));
  // Only relevant during a key rotation, or when a secret cannot be opened.
  const sealed = await check('secrets', () => secrets(dependencies), leftMs?.());
  if (!sealed.ok || dependencies.settings.secretKeyPrevious) checks.push(sealed);
  return checks;
}

export async function runMachineChecks(settings: Settings, leftMs?: () => number): Promise<Check[]> {
  const checks: Check[] = [];
  if (!settings.databaseUrl) {
    checks.push(await check('disk', () => disk(settings.dataDir), leftMs?.()));
    checks.push(await check('secret files', () => secretFiles(settings.dataDir), leftMs?.()));
  }
  checks.push(await check('service', () => service(settings), leftMs?.()));
  return checks;
}
