import type { VisitSignals } from '../events/visitor.events.js';
import { Command } from '../kernel/command.js';
import type { Site } from '../sites/site.js';
import type { TagMessage } from './tag/tag-message.js';
import type { CallingVisitor } from './tag/visitor-cookie.js';

/** Signals that the service reads from the HTTP request; the others come from the browser. */
export type RequestSignals = Pick<VisitSignals, 'ip' | 'userAgent' | 'country' | 'headers'>;

/** A page view (`collect`) or an email entered on a page (`identify`), as reported by the tag. */
export class RecordVisit extends Command<void> {
  constructor(
    readonly actor: 'tag',
    readonly site: Site,
    readonly call: 'collect' | 'identify',
    readonly message: TagMessage,
    readonly request: RequestSignals,
    readonly visitor: CallingVisitor,
  ) {
    super();
  }
}
