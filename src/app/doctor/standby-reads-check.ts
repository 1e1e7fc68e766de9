import { formatDuration } from '../../kernel/durations.js';
import { messageOf } from '../../kernel/errors.js';
import { type DoctorDependencies, type Finding, failed, passed } from './check.js';

/** Whether reads that may lag can use the standby of DATABASE_READ_URL. */
export async function standbyReads({ postgres, settings }: DoctorDependencies): Promise<Finding> {
  const bound = formatDuration(settings.databaseReadMaxLagMs);
  try {
    const lagMs = (await postgres.standby?.check()) ?? 0;
    return passed(`the standby is ${(lagMs / 1_000).toFixed(1)} s behind; up to ${bound} it is read`);
  } catch (error) {
    return failed(
      `${messageOf(error)}: the primary is read instead`,
      'Check DATABASE_READ_URL: a standby of the server of DATABASE_URL, with the same logins, that replicates.',
    );
  }
}
