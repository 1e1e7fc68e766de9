import { isOutcome } from '../delivery/delivery.js';
import { CONVERSION } from '../events/conversion.events.js';
import type { OutcomeStatus } from '../events/delivery.events.js';
import type { StoredEvent } from '../log/event.js';
import type { LogReads } from '../log/event-log.js';
import type { SyncLine } from '../outbound/sync-log.js';

/** The later attempt of the same delivery that the platform accepted. */
export interface Resolution {
  readonly time: string;
  readonly status: string;
}

/** Attempts after which a delivery is still to be sent, or would be. */
const UNRESOLVED: readonly string[] = ['failed', 'rejected', 'skipped', 'deferred'] satisfies OutcomeStatus[];
const ACCEPTED: readonly OutcomeStatus[] = ['delivered', 'accepted', 'confirmed'];

type Line = SyncLine & { readonly position: number };

/** Adds to each attempt that did not succeed which later one did. */
export async function withResolutions<Of extends Line>(
  log: Pick<LogReads, 'readStreams'>,
  lines: readonly Of[],
): Promise<(Of & { readonly resolved?: Resolution })[]> {
  const ids = lines.flatMap(({ status, conversionId }) =>
    conversionId !== undefined && UNRESOLVED.includes(status) ? [conversionId] : [],
  );
  if (ids.length === 0) return [...lines];
  const events = await log.readStreams(CONVERSION, [...new Set(ids)]);
  return lines.map((line) => {
    const resolved = resolutionOf(line, events);
    return resolved ? { ...line, resolved } : line;
  });
}

/** The newest accepted attempt, unless another one did not succeed after it. */
export function resolutionOf(
  { position, status, platform, conversionId }: Line,
  events: readonly StoredEvent[],
): Resolution | undefined {
  if (!UNRESOLVED.includes(status)) return undefined;
  const last = events
    .filter(isOutcome)
    .filter(({ data }) => data.conversionId === conversionId && data.platform === platform)
    .reduce<StoredEvent | undefined>(
      (newest, event) => (newest && newest.position > event.position ? newest : event),
      undefined,
    );
  if (!last || !isOutcome(last) || last.position <= position || !ACCEPTED.includes(last.data.status)) return undefined;
  return { time: last.time, status: last.data.status };
}
