/** An error that the user can fix: its message states what to do and contains no secrets or personal data. */
export class UserError extends Error {
  override readonly name = 'UserError';
}

/** Refused before anything was done. The same request can be sent again after some seconds. */
export class TooManyRequests extends Error {
  override readonly name = 'TooManyRequests';

  constructor(
    message: string,
    readonly retryAfterS: number,
  ) {
    super(message);
  }
}

/** The log cannot be written or read at the moment. Nothing is lost: the caller can retry. */
export class LogUnavailable extends Error {
  override readonly name: string = 'LogUnavailable';
}

/** Nothing new is stored for a paused site. A sender can retry, as with a log that is unavailable; an operator has to resume it. */
export class SitePaused extends LogUnavailable {
  override readonly name = 'SitePaused';

  constructor(site: string) {
    super(
      `Site ${site} is paused or moves, so nothing new is stored for it. "sites show ${site}" tells which; "sites resume ${site}" ends a pause.`,
    );
  }
}

/** The connection was lost during a commit, and the log could not be asked whether it has the change. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown';
  constructor(lost: unknown) {
    super(
      `The connection to the database was lost during a commit, which may have been carried out: ${messageOf(lost)}`,
      {
        cause: lost,
      },
    );
  }
}

export function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // A refused connection to a name with several addresses is an AggregateError with an empty message.
  return error.message || ((error as NodeJS.ErrnoException).code ?? error.name);
}
