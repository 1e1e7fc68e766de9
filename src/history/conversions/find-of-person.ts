import type { ClientBase } from 'pg';
import { isOpening } from '../../conversions/conversion.js';
import { type NamedBy, type NamingSite, subjectsOf, textsOf } from '../../conversions/named-person.js';
import type { LogReads } from '../../log/event-log.js';
import { readEventsAt } from '../../log/event-reader.js';
import { findNewestMentions } from '../../log/mentions.js';
import { deliveryStates, readConversionStreams } from './delivery-states.js';
import type { FoundConversion } from './find-conversions.js';

/** A person has few conversions; visits have personal parts as well. */
const MENTIONS_MAX = 500;

export interface ConversionsOfPerson {
  /** Newest first. */
  readonly found: readonly FoundConversion[];
  /** False: a phone or a click id that was sent with an email was looked for in the newest events only. */
  readonly isComplete: boolean;
}

/** The newest conversions about a person. */
export async function findOfPerson(
  log: LogReads,
  client: ClientBase,
  site: NamingSite & { readonly after: number },
  person: NamedBy,
  limit: number,
): Promise<ConversionsOfPerson> {
  const { positions, lookedFrom } = await findNewestMentions(client, {
    ...{ site: site.host, after: site.after, until: await log.head(), limit: MENTIONS_MAX },
    ...{ subjects: subjectsOf(person, site), texts: textsOf(person, site) },
  });
  const events = positions.length === 0 ? [] : await readEventsAt(client, positions);
  const openings = events.filter(isOpening).reverse().slice(0, limit);
  const streams = [...(await readConversionStreams(log, openings)).values()];
  const found = streams.map((stream) => ({ opening: stream[0], deliveries: deliveryStates(stream) }));
  return { found, isComplete: lookedFrom <= site.after };
}
