import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

/** The part of kafkajs's internal request queue that is used here. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  scheduleCheckPendingRequests(): void;
}

/**
 * kafkajs 2.2.4 schedules a check for pending requests even when none is pending, and then with a negative delay. Every
 * connection runs a 1 ms timer loop, and Node 24 and later print a TimeoutNegativeWarning (tulios/kafkajs#1704, #1751).
 * An empty queue needs no check: a request that has to wait schedules one when it is enqueued.
 */
export function stopIdleQueueChecks(): void {
  const { prototype } = require('kafkajs/src/network/requestQueue/index.js') as { prototype: RequestQueue };
  const schedule = prototype.scheduleCheckPendingRequests;
  prototype.scheduleCheckPendingRequests = function scheduleIfPending() {
    if (this.pending.length > 0) schedule.call(this);
  };
}
