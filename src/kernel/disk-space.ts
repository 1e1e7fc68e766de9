import { UserError } from './errors.js';

/** Names a full disk or an exhausted quota, and what to do then. */
export async function withSpace<Result>(problem: string, next: string, write: () => Promise<Result>): Promise<Result> {
  try {
    return await write();
  } catch (error) {
    throw diskFullError(error, problem, next) ?? error;
  }
}

/** Undefined for any other error. */
export function diskFullError(error: unknown, problem: string, next: string): UserError | undefined {
  const { code } = error as NodeJS.ErrnoException;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return undefined;
  return new UserError(`${problem} (${code}). Free some space, then ${next}.`);
}
