import { DatabaseError } from 'pg';
import { LogUnavailable, messageOf } from './errors.js';
import { TimedOut, withTimeout } from './with-timeout.js';

/** Shorter than a sender's timeout, and longer than any query that succeeds. */
const TIMEOUT_MS = 5_000;

/** SQLSTATE classes: connection lost, insufficient resources, shutdown or start-up, system error such as a full disk. */
const TRANSIENT = /^(08|53|57|58)/;

/**
 * Bounds a query of the log that a request waits for. If the connection fails, or no answer arrives in time (a frozen server
 * or a broken network path), it rejects with `LogUnavailable`. Other errors that PostgreSQL reports are bugs and pass through.
 */
export async function withLogTimeout<Result>(query: Promise<Result>): Promise<Result> {
  try {
    return await withTimeout(query, TIMEOUT_MS);
  } catch (error) {
    if (error instanceof TimedOut) throw new LogUnavailable('The log did not answer in time');
    if (error instanceof DatabaseError && !TRANSIENT.test(error.code ?? '')) throw error;
    throw error instanceof LogUnavailable ? error : new LogUnavailable(messageOf(error));
  }
}
