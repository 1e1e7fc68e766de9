import { Command } from '../kernel/command.js';
import type { TagMessage } from './tag-message.js';

export type ConsentMessage = Pick<TagMessage, 'consent' | 'visit' | 'visitor' | 'subject'>;

/** A visitor's choice about consent, as reported by the tag. */
export class ChangeConsent extends Command<void> {
  constructor(
    readonly actor: 'tag',
    /** Host of the site. */
    readonly site: string,
    readonly message: ConsentMessage,
  ) {
    super();
  }
}
