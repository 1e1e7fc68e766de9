import { randomUUID } from 'node:crypto';
import type { Postgres } from '../../postgres/postgres.js';
import type { AppendRequest } from '../event.js';
import type { Queryable } from '../event-reader.js';
import { toBatch } from './append-batch.js';
import { describeUnavailable } from './append-error.js';

/** A trial append takes the append's lock, so that probes must not repeat it at their own rate. */
const TRIAL_EVERY_MS = 2_000;
const TRIAL_TIMEOUT_MS = 2_500;

/** Tables into which an append writes. */
const WRITTEN = ['events', 'personal', 'seals', 'dedup', 'clock_steps'];

/**
 * Why an append would not be stored, for the readiness check. A probe only reads: what the database says about itself and
 * how the last append ended. Once an append has failed, only another one shows whether the cause is gone, because a full disk
 * or a broken constraint cannot be read anywhere: trial appends, which are rolled back, then decide.
 */
export class AppendReadiness {
  private failure: { readonly reason: string; readonly triedMs: number } | undefined;
  private trying: Promise<void> | undefined;

  constructor(
    private readonly tryAppend: () => Promise<void>,
    private readonly now: () => number = () => performance.now(),
  ) {}

  failed(error: unknown): void {
    this.failure = { reason: describeUnavailable(error), triedMs: this.now() };
  }

  succeeded(): void {
    this.failure = undefined;
  }

  /** Undefined if nothing is known that keeps an append from being stored. */
  async refusal(source: Queryable): Promise<string | undefined> {
    const visible = await findVisibleRefusal(source);
    if (visible !== undefined) return visible;
    if (this.failure && this.now() - this.failure.triedMs >= TRIAL_EVERY_MS) {
      this.trying ??= this.tryAppend()
        .then(
          () => this.succeeded(),
          (error: unknown) => this.failed(error),
        )
        .finally(() => {
          this.trying = undefined;
        });
      await this.trying;
    }
    return this.failure?.reason;
  }
}

interface DatabaseState {
  readonly standby: boolean;
  readonly read_only: boolean;
  readonly role: string;
  readonly denied: string | null;
  readonly next: string;
  readonly has_partition: boolean;
}

/** What the database itself tells without a write. Asked each time, so that it recovers without an append. */
async function findVisibleRefusal(source: Queryable): Promise<string | undefined> {
  const { rows } = await source.query<DatabaseState>({
    name: 'find-append-refusal',
    text: `SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only,
                  current_user AS role, next, EXISTS (
                    SELECT FROM cc.log_partitions WHERE first <= next AND next < beyond
                       AND to_regclass('cc.events_' || first) IS NOT NULL AND to_regclass('cc.personal_' || first) IS NOT NULL
                  ) AS has_partition,
                  (SELECT string_agg('cc.' || name, ', ' ORDER BY name) FROM unnest($1::text[]) AS name
                    WHERE NOT has_table_privilege('cc.' || name, 'INSERT')) AS denied
             FROM (SELECT last_value + is_called::integer AS next FROM cc.event_position) sequence`,
    values: [WRITTEN],
  });
  const state = rows[0] as DatabaseState;
  if (state.standby) return 'the database is a standby, which stores nothing';
  if (state.read_only) return 'the database is read-only (default_transaction_read_only)';
  if (state.denied !== null) return `the role ${state.role} may not insert into ${state.denied}`;
  return state.has_partition ? undefined : `the log has no partition for position ${state.next}`;
}

/** Does everything that an append does except for the commit. Costs a position, so it only runs after a failure. */
export async function tryAppend(postgres: Postgres): Promise<void> {
  // Not the connection for appends: one that is sent in between would be rolled back as well.
  const client = await postgres.connect('trial append', { statement_timeout: `${TRIAL_TIMEOUT_MS}ms` });
  try {
    await client.query('BEGIN');
    await client.query(`SELECT cc.append($1, true, false, NULL, '-infinity', 'infinity', NULL, '{}')`, [
      toBatch(trialRequest()),
    ]);
    await client.query('ROLLBACK');
  } finally {
    // Not awaited: the server may be frozen.
    void client.end().catch(() => {});
  }
}

/** With all parts that an event can have. */
function trialRequest(): AppendRequest {
  return {
    category: 'trial',
    stream: randomUUID(),
    expected: 'new',
    site: '',
    actor: 'system',
    events: [{ type: 'trial', data: {}, personal: { subject: '00' } }],
    claim: { key: randomUUID(), windowMs: 0, weak: false },
  };
}
