import { type Actor, Command } from '../../kernel/command.js';

/** Counts of what an erasure deleted. */
export interface ErasedSubject {
  /** Events that lost their personal part. */
  readonly events: number;
  readonly identifiers: number;
  /** Dedup claims whose key was derived from the person. */
  readonly claims: number;
}

/** Erases a data subject: deletes every personal part and leaves events and totals in place. */
export class EraseSubject extends Command<ErasedSubject> {
  constructor(
    readonly actor: Actor,
    /** Host of the site. */
    readonly site: string,
    /** Hash of the email, or another key of the person, in hex. */
    readonly subject: string,
    /** Position up to which the events of the host are of an earlier site, of which nothing is erased. */
    readonly after?: number,
    /** Further subjects of the person. */
    readonly others: readonly string[] = [],
  ) {
    super();
  }
}

/** Repeats every erasure in the list. Required after a restore from a backup, which may contain erased people. */
export class RerunErasures extends Command<{ people: number } & ErasedSubject> {
  constructor(readonly actor: Actor) {
    super();
  }
}
