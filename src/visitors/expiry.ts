import { VISITOR, type VisitorEvent } from '../events/visitor.events.js';
import { uuidv7 } from '../kernel/uuid.js';
import type { AppendRequest } from '../log/event.js';

/** Accounts for the missing personal parts of visits, as after an erasure. */
export function expiry(site: string, events: number): AppendRequest & { readonly expected: 'new' } {
  const event: VisitorEvent = {
    type: 'visitor.erased.v1',
    data: { events, identifiers: 0, claims: 0, unidentified: true },
  };
  return { category: VISITOR, stream: uuidv7(), expected: 'new', site, actor: 'system', events: [event] };
}
