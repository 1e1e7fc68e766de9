import type { ProjectionRunner } from '../log/projections/projection-runner.js';
import type { Site, SiteScope } from '../sites/site.js';
import { checkpointsCheck } from './reconciliation/checkpoints.check.js';
import { conversionsCheck } from './reconciliation/conversions.check.js';
import { deliveriesCheck } from './reconciliation/deliveries.check.js';
import { duplicatesCheck } from './reconciliation/duplicates.check.js';
import { erasuresCheck } from './reconciliation/erasures.check.js';
import { orderCheck } from './reconciliation/order.check.js';
import { originsCheck } from './reconciliation/origins.check.js';
import { owedCheck } from './reconciliation/owed.check.js';
import { pausedSitesCheck } from './reconciliation/paused-sites.check.js';
import { pausesCheck } from './reconciliation/pauses.check.js';
import { projectionCheck } from './reconciliation/projection.check.js';
import { pushesCheck } from './reconciliation/pushes.check.js';
import { schemasCheck } from './reconciliation/schemas.check.js';
import { recordsCheck, topicsCheck } from './reconciliation/topics.check.js';
import { usersCheck } from './reconciliation/users.check.js';
import { versionsCheck } from './reconciliation/versions.check.js';
import type { Check, EventCheck, IsPartial, StreamCheck } from './verify.js';

export interface VerifyOptions {
  /** Compare every record of the topics with the log. */
  readonly records?: boolean;
}

/** Checks of `history verify` that read the log in order, with the check of its hash chain. */
export function allEventChecks(): EventCheck[] {
  return [schemasCheck(), originsCheck(), erasuresCheck(), pausesCheck()];
}

/**
 * Checks of `history verify` that share one pass over the log.
 * `isShortened`: retention has removed events from its start. `nowMs`: the database's time. `scopes`: the sites that have their hosts now.
 * `arrived`: those whose events came from another log, which may have been shortened.
 */
export function allStreamChecks(
  isShortened: boolean,
  nowMs: number,
  scopes: readonly (SiteScope & Pick<Site, 'move'>)[] = [],
  arrived: ReadonlySet<string> = new Set(),
): StreamCheck[] {
  const isPartial: IsPartial = (site) => isShortened || arrived.has(site);
  return [
    versionsCheck(isPartial),
    conversionsCheck(isPartial),
    deliveriesCheck(isPartial),
    owedCheck(isPartial, nowMs, scopes),
  ];
}

/** The other checks of `history verify`. Each reads its own data. */
export function allChecks(projections: ProjectionRunner, { records }: VerifyOptions = {}): Check[] {
  return [
    checkpointsCheck,
    orderCheck,
    duplicatesCheck,
    pausedSitesCheck,
    usersCheck,
    pushesCheck,
    topicsCheck,
    ...(records ? [recordsCheck] : []),
    ...projections.names().map((name) => projectionCheck(name)),
  ];
}
