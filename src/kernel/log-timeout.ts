import { DatabaseError } from 'pg';
import { LogUnavailable, messageOf } from './errors.js';

/** Less than a sender's patience, and more than any question takes that is answered at all. */
const ANSWER_WITHIN_MS = 5_000;

/** PostgreSQL's words for: connection lost, no resources, being stopped or started, trouble with its disk. */
const MAY_PASS = /^(08|53|57|58)/;

/**
 * The answer to a question that a request puts to the log. Where the way to the database is broken, or nothing comes
 * back (a server that is frozen or behind a cut cable says nothing at all), the log is unavailable. What PostgreSQL
 * itself refuses is our own mistake and stays what it is.
 */
export async function withLogTimeout<Answer>(question: Promise<Answer>): Promise<Answer> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new LogUnavailable('The log did not answer in time')), ANSWER_WITHIN_MS);
  });
  try {
    return await Promise.race([question, tooLate]);
  } catch (error) {
    if (error instanceof DatabaseError && !MAY_PASS.test(error.code ?? '')) throw error;
    throw error instanceof LogUnavailable ? error : new LogUnavailable(messageOf(error));
  } finally {
    clearTimeout(timer);
  }
}
