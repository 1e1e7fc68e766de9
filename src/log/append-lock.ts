import type { ClientBase } from 'pg';
import { APPEND_LOCK } from './projection-rebuild.js';

/** Shorter than an append waits for the lock: a client that freezes before its commit must not fail the appends of others. */
export const IDLE_WITH_LOCK_MS = 2_000;

/** Until the transaction of the caller ends, nothing is appended. */
export async function lockAppends(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT set_config('idle_in_transaction_session_timeout', '${IDLE_WITH_LOCK_MS}ms', true), pg_advisory_xact_lock($1)`,
    [APPEND_LOCK],
  );
}
