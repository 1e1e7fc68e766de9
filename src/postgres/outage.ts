import { types } from 'node:util';

/**
 * Class 08: connection lost. 57P: the server stops or starts. 53: out of resources. 25006: a standby. 55P03, 57014: timeouts.
 * 25P03: the server has ended a connection whose transaction waited too long for this process.
 */
const OUTAGE_STATES = /^(08|53|57P0|25006|25P03|55P03|57014)/;
const OUTAGE_CODES = /^(ECONN(REFUSED|RESET)|ENOENT|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)$/;
/** pg's own errors have no code. */
const OUTAGE_MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|timeout expired|Query read timeout|Client has encountered a connection error)/;
/** Message of a pool whose connections are all in use. */
const POOL_BUSY_MESSAGE = 'timeout exceeded when trying to connect';

/** Outages that a statement may cause which always takes too long. */
const TIMEOUT_STATES = /^(55P03|57014)$/;
const TIMEOUT_MESSAGE = 'Query read timeout';

/** "Canceling statement due to conflict with recovery": a standby had to replay something that the query needed unchanged. */
const RECOVERY_CONFLICT = /^(40001|40P01)$/;

/** Whether the database could not be reached or did not answer, as opposed to a statement that it refused. */
export function isDatabaseOutage(error: unknown): boolean {
  // Not by its class: errors of sockets have another one where a spec runs.
  if (!types.isNativeError(error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string') return OUTAGE_STATES.test(code) || OUTAGE_CODES.test(code);
  return OUTAGE_MESSAGES.test(error.message) || isDatabaseOutage(error.cause);
}

/** Whether no connection became free in time: the database may work, and this process or the database has much to do. */
export function isPoolBusy(error: unknown): boolean {
  return error instanceof Error && (error.message === POOL_BUSY_MESSAGE || isPoolBusy(error.cause));
}

/** Whether the server cancelled a query that could not go on beside others. Repeating it helps, on the primary if it was a standby. */
export function isRecoveryConflict(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === 'string' && RECOVERY_CONFLICT.test(code);
}

/** Whether an answer took too long, which the statement itself may be the cause of. */
export function isDatabaseTimeout(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return (typeof code === 'string' && TIMEOUT_STATES.test(code)) || error.message.startsWith(TIMEOUT_MESSAGE);
}
