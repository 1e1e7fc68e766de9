import type { Actor } from '../kernel/command.js';
import { SiteCommand } from './site.commands.js';
import type { Site } from './site.js';

/** Deliveries and pushes wait from here on, so that what is under way ends. */
export class StartMove extends SiteCommand<Site> {
  constructor(
    actor: Actor,
    host: string,
    /** Name of the cell. */
    readonly to: string,
    readonly epoch: number,
  ) {
    super(actor, host);
  }
}

/** Before the site has left. */
export class CancelMove extends SiteCommand<Site> {
  constructor(
    actor: Actor,
    host: string,
    /** A move that copies, and has not been started in the log. */
    readonly copying?: { readonly to: string; readonly epoch: number },
  ) {
    super(actor, host);
  }
}
