import type { ProjectionRunner } from '../log/projection-runner.js';
import { conversionsBook } from './books/conversions-book.js';
import { deliveriesBook } from './books/deliveries-book.js';
import { duplicatesCheck } from './books/duplicates-check.js';
import { orderCheck } from './books/order-check.js';
import { projectionCheck } from './books/projection-check.js';
import { versionsBook } from './books/versions-book.js';
import type { Check, StreamBook } from './verify.js';

/** What `history verify` recomputes. Whoever keeps another book adds it here: Kafka's offsets, the pushes of totals. */
export function allStreamBooks(isShortened: boolean): StreamBook[] {
  return [versionsBook(isShortened), conversionsBook(isShortened), deliveriesBook(isShortened)];
}

export function allChecks(projections: ProjectionRunner, isShortened: boolean): Check[] {
  return [orderCheck, duplicatesCheck, ...projections.names().map((name) => projectionCheck(name, isShortened))];
}
