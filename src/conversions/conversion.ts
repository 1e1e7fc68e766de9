import type { Pinned } from '../delivery/received.js';
import type { NewEvent, StoredEvent } from '../log/event.js';
import type { Visit } from '../platforms/conversion.js';
import type { PersonalHashes } from '../platforms/personal-hashes.js';
import type { Judgement } from '../visitors/bots/judge.js';
import type { Withheld } from '../visitors/consent.js';
import type { Match } from '../visitors/matcher.js';

/** What a sender said, without the person: that part stands beside the event and can be erased. */
export interface ConversionData extends Pinned {
  readonly conversionId: string;
  readonly event: string;
  /** As it was sent; absent when absent. */
  readonly value?: number | undefined;
  readonly currency: string;
  readonly orderId?: string | undefined;
  readonly keyId: string;
  readonly trial: boolean;
  /** Joined to a visit, which stands in the personal part. */
  readonly matched?: true;
  readonly consent?: Match['consent'];
  readonly withheld?: Withheld;
  /** What was thought of the person's visit. */
  readonly bot?: Judgement;
  /** The site's threshold was reached. */
  readonly judged?: true;
}

export type ConversionEvent =
  /** Counts: it is sent to the platforms and is in the totals. */
  | { type: 'conversion.received.v1'; data: ConversionData }
  /** The same conversion again, within the site's window; `differs` names the fields that are not as in the first. */
  | { type: 'conversion.deduplicated.v1'; data: ConversionData & { firstConversionId: string; differs: string[] } }
  /** Kept and counted, but not sent: somebody the site does not want to hear of. */
  | { type: 'conversion.filtered.v1'; data: ConversionData & { reason: string } };

/** The event that opens a conversion's stream: it says what became of the request. */
export type OpeningEvent = ConversionEvent &
  NewEvent & { readonly personal: PersonalHashes & { readonly visit?: Visit } };

const OPENING: ReadonlySet<string> = new Set<ConversionEvent['type']>([
  'conversion.received.v1',
  'conversion.deduplicated.v1',
  'conversion.filtered.v1',
]);

export function isOpening(event: StoredEvent): boolean {
  return OPENING.has(event.type);
}
