/** Where a retry of several requests continues. */
export interface RetryCursor {
  /** Attempts before this position are left. */
  readonly before: number;
  /** The newest position that the first request looked at. Attempts that were recorded since belong to none of them. */
  readonly until: number;
}

export const RETRY_CURSOR_PATTERN = '^\\d{1,15}-\\d{1,15}$';

export function formatRetryCursor({ before, until }: RetryCursor): string {
  return `${before}-${until}`;
}

/** Parses a text that matches the pattern. */
export function parseRetryCursor(text: string): RetryCursor {
  const [before, until] = text.split('-').map(Number) as [number, number];
  return { before, until };
}
