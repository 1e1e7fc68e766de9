import { describeUnavailable } from './append-error.js';
import type { Queryable } from './event-reader.js';

/** After this time without an append, senders may try again: only an append shows whether the cause is gone. */
const REMEMBERED_MS = 10_000;

/** Why an append would not be stored, for the readiness check. */
export class AppendReadiness {
  private failure: { readonly reason: string; readonly atMs: number } | undefined;

  constructor(private readonly now: () => number = () => performance.now()) {}

  failed(error: unknown): void {
    this.failure = { reason: describeUnavailable(error), atMs: this.now() };
  }

  succeeded(): void {
    this.failure = undefined;
  }

  /** Undefined if nothing is known that keeps an append from being stored. */
  async refusal(source: Queryable): Promise<string | undefined> {
    const missing = await findMissingPartition(source);
    if (missing !== undefined) return `the log has no partition for position ${missing}`;
    const isRecent = this.failure && this.now() - this.failure.atMs < REMEMBERED_MS;
    return isRecent ? this.failure?.reason : undefined;
  }
}

/** The next position, if the log has no partition for it. Asked of the database, so that it recovers without an append. */
async function findMissingPartition(source: Queryable): Promise<number | undefined> {
  const { rows } = await source.query<{ next: string; exists: boolean }>({
    name: 'find-missing-partition',
    text: `SELECT next, EXISTS (
             SELECT FROM cc.log_partitions WHERE first <= next AND next < beyond
                AND to_regclass('cc.events_' || first) IS NOT NULL AND to_regclass('cc.personal_' || first) IS NOT NULL) AS exists
             FROM (SELECT last_value + is_called::integer AS next FROM cc.event_position) sequence`,
  });
  const row = rows[0] as { next: string; exists: boolean };
  return row.exists ? undefined : Number(row.next);
}
