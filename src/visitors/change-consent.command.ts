import type { ConsentValue } from '../events/visitor.events.js';
import { type Actor, Command } from '../kernel/command.js';
import type { Site } from '../sites/site.js';
import type { TagMessage } from './tag/tag-message.js';
import type { CallingVisitor } from './tag/visitor-cookie.js';

export type ConsentMessage = Pick<
  TagMessage,
  'consent' | 'visit' | 'visitor' | 'subject' | 'statement' | 'clicks' | 'europe'
>;

/** A visitor's choice about consent, as reported by the tag. */
export class ChangeConsent extends Command<void> {
  constructor(
    readonly actor: 'tag',
    readonly site: Pick<Site, 'host' | 'settings'>,
    readonly message: ConsentMessage,
    readonly visitor: CallingVisitor,
  ) {
    super();
  }
}

/** An operator's statement about a person. It replaces all earlier ones, of visitors and operators. */
export class StateConsent extends Command<void> {
  constructor(
    readonly actor: Actor,
    /** Host of the site. */
    readonly site: string,
    /** Hash of the email, or another key of the person, in hex. */
    readonly subject: string,
    readonly value: ConsentValue,
  ) {
    super();
  }
}
