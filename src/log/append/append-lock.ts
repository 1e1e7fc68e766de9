import type { ClientBase } from 'pg';

/** Advisory lock of the append. While it is held no other session appends. */
export const APPEND_LOCK = 4845001;

/** Shorter than an append waits for the lock: a client that freezes before its commit must not fail the appends of others. */
export const IDLE_WITH_LOCK_MS = 2_000;

/** Until the transaction of the caller ends, nothing is appended. */
export async function lockAppends(client: ClientBase): Promise<void> {
  await client.query(
    `SELECT set_config('idle_in_transaction_session_timeout', '${IDLE_WITH_LOCK_MS}ms', true), pg_advisory_xact_lock($1)`,
    [APPEND_LOCK],
  );
}
