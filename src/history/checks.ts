import type { ProjectionRunner } from '../log/projection-runner.js';
import { conversionsCheck } from './reconciliation/conversions.check.js';
import { deliveriesCheck } from './reconciliation/deliveries.check.js';
import { duplicatesCheck } from './reconciliation/duplicates.check.js';
import { orderCheck } from './reconciliation/order.check.js';
import { projectionCheck } from './reconciliation/projection.check.js';
import { pushesCheck } from './reconciliation/pushes.check.js';
import { topicsCheck } from './reconciliation/topics.check.js';
import { versionsCheck } from './reconciliation/versions.check.js';
import type { Check, StreamCheck } from './verify.js';

/** Checks of `history verify` that share one pass over the log. `isShortened`: retention has removed events from its start. */
export function allStreamChecks(isShortened: boolean): StreamCheck[] {
  return [versionsCheck(isShortened), conversionsCheck(isShortened), deliveriesCheck(isShortened)];
}

/** The other checks of `history verify`. Each reads its own data. */
export function allChecks(projections: ProjectionRunner): Check[] {
  return [
    orderCheck,
    duplicatesCheck,
    pushesCheck,
    topicsCheck,
    ...projections.names().map((name) => projectionCheck(name)),
  ];
}
