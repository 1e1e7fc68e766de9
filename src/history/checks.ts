import type { ProjectionRunner } from '../log/projection-runner.js';
import { conversionsBook } from './books/conversions-book.js';
import { deliveriesBook } from './books/deliveries-book.js';
import { duplicatesCheck } from './books/duplicates-check.js';
import { orderCheck } from './books/order-check.js';
import { projectionCheck } from './books/projection-check.js';
import { pushesCheck } from './books/pushes-check.js';
import { topicsCheck } from './books/topics-check.js';
import { versionsBook } from './books/versions-book.js';
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
