import { UserError } from '../../kernel/errors.js';
import type { PositionRange } from '../../log/event.js';
import type { ReaderHold } from '../../log/retention/retention-holds.js';
import type { Output } from '../output/output.js';

/** States that a selected part of the log is gone, so that its absence is not taken for a lack of events. Returns whether it is. */
export function noteRemoved(
  output: Output,
  { after, until }: PositionRange,
  { removedUntil }: Pick<ReaderHold, 'removedUntil'>,
): boolean {
  const isIncomplete = removedUntil > after && until > after;
  if (isIncomplete)
    output.note(
      `LOG_RETENTION has removed the events up to position ${removedUntil}, except those of sites and keys: the result lacks them.`,
    );
  return isIncomplete;
}

/** An interrupted export whose next events were removed cannot be completed. */
export function refuseGap(file: string, position: number, { removedUntil }: Pick<ReaderHold, 'removedUntil'>): void {
  if (removedUntil <= position) return;
  throw new UserError(
    `LOG_RETENTION has removed the events after position ${position}, where ${file}.part ends, up to ${removedUntil}. ` +
      `Remove ${file}.part and ${file}.part.json to export what is left.`,
  );
}
