import { DatabaseError } from 'pg';
import { NoPrimary } from '../../postgres/database-hosts.js';

/**
 * What an error of `cc.append` means for the caller. `bad_row`: the database will never store one of these events. `conflict`:
 * a stream has an event with this version already. `unavailable`: the events are not at fault and can be sent again.
 */
export type AppendFailure = 'bad_row' | 'conflict' | 'unavailable';

/** Class 22: data that a column cannot hold. Class 54: data beyond a limit of PostgreSQL. 21000 and 23502: a malformed batch. */
const BAD_ROW = /^(22|54|21000|23502)/;
const UNIQUE_VIOLATION = '23505';
const NO_PARTITION = '23514';

/** Everything that is not known to be a bad row is worth another attempt: no partition, no privilege, no disk space, no server. */
export function classifyAppendError(error: unknown): AppendFailure {
  if (!(error instanceof DatabaseError)) return 'unavailable';
  const { code = '', constraint = '' } = error;
  if (BAD_ROW.test(code)) return 'bad_row';
  if (code !== UNIQUE_VIOLATION) return 'unavailable';
  if (/^events_\d+_stream$/.test(constraint)) return 'conflict';
  // A position that is taken is no fault of the event: the sequence is behind the log.
  return constraint === 'dedup_pkey' ? 'bad_row' : 'unavailable';
}

/** Why appends cannot be stored at the moment, without values of the rows: they may be personal. */
export function describeUnavailable(error: unknown): string {
  const { cause } = error as Error;
  if (cause instanceof NoPrimary) return cause.summary;
  if (!(error instanceof DatabaseError)) return 'the database does not answer';
  if (error.code === NO_PARTITION) return 'the log has no partition for the next event';
  return `the database refuses appends: ${error.message}`;
}
