import type { ProjectionRunner } from '../log/projection-runner.js';
import { conversionsBook } from './reconciliation/conversions-book.js';
import { deliveriesBook } from './reconciliation/deliveries-book.js';
import { duplicatesCheck } from './reconciliation/duplicates-check.js';
import { orderCheck } from './reconciliation/order-check.js';
import { projectionCheck } from './reconciliation/projection-check.js';
import { pushesCheck } from './reconciliation/pushes-check.js';
import { topicsCheck } from './reconciliation/topics-check.js';
import { versionsBook } from './reconciliation/versions-book.js';
import type { Check, StreamBook } from './verify.js';

/** What `history verify` recomputes. Whoever keeps another book adds it here. */
export function allStreamBooks(isShortened: boolean): StreamBook[] {
  return [versionsBook(isShortened), conversionsBook(isShortened), deliveriesBook(isShortened)];
}

export function allChecks(projections: ProjectionRunner, isShortened: boolean): Check[] {
  return [
    orderCheck,
    duplicatesCheck,
    pushesCheck,
    topicsCheck,
    ...projections.names().map((name) => projectionCheck(name, isShortened)),
  ];
}
