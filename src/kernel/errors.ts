/** Something the person at the other end can mend: its message says what to do next and holds nothing secret or personal. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

/** The log cannot take or give anything right now. Nothing is lost: the caller may try again. */
export class LogUnavailable extends Error {
  override readonly name = 'LogUnavailable';
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A refused connection to a name with several addresses is an AggregateError without a word of its own.
  return error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
}
