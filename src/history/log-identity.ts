import type { EventLog } from '../log/event-log.js';
import { RETAINED_CATEGORIES } from '../log/retention/retention.js';

export interface LogIdentity {
  /** The same after a restore, a failover and retention; empty while the log has no event. */
  readonly id: string;
  readonly head: number;
}

/** The id of the first event that retention never removes identifies a log. */
export async function identifyLog(log: EventLog): Promise<LogIdentity> {
  const [first] = await log.read({ categories: RETAINED_CATEGORIES, limit: 1 });
  return { id: first?.id ?? '', head: await log.head() };
}
