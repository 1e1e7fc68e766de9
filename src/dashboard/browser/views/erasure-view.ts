import type { Schemas } from '../api.js';
import { counted } from '../format.js';
import { auditActor } from './audit-view.js';

type Counts = Pick<Schemas['Erasure'], 'events' | 'identifiers' | 'claims'>;
type Recorded = Schemas['RecordedErasure'];

export function isNothing({ events, identifiers, claims }: Counts): boolean {
  return events + identifiers + claims === 0;
}

/** What is stored about a person, or was. */
export function countsText(counts: Counts): string {
  if (isNothing(counts)) return 'nothing';
  const { events, identifiers, claims } = counts;
  const parts = [
    events > 0 && `the personal parts of ${counted(events, 'event')}`,
    identifiers > 0 && counted(identifiers, 'identifier record'),
    claims > 0 && counted(claims, 'dedup key'),
  ].filter((part) => part !== false);
  return parts.length < 2 ? parts.join() : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`;
}

/** The newest erasure by the user: the one that the page has just requested. */
export function ownErasure(erasures: readonly Recorded[], userId: string): Recorded | undefined {
  return erasures.find(({ actor }) => actor === `user:${userId}`);
}

/** What can be given to the person or an authority. It does not name the person: the log does not, either. */
export function erasureProof(site: string, { id, position, time, ...erasure }: Recorded, left: Counts): string {
  const { actor, actorName } = erasure;
  return [
    `Erasure of a person at ${site}`,
    `Time: ${time}`,
    `By: ${auditActor(actor, actorName)}`,
    `Erased: ${countsText(erasure)}`,
    `Stored about the person afterwards: ${countsText(left)}`,
    `Recorded in the log: event ${id} at position ${position}`,
  ].join('\n');
}
