import { type Actor, Command } from '../kernel/command.js';
import type { Site } from './site.js';
import type { SettingsRequest } from './site-settings.js';

/** A command that changes one site, identified by its host; an alias does not identify it. */
export abstract class SiteCommand<Result> extends Command<Result> {
  constructor(
    readonly actor: Actor,
    readonly host: string,
  ) {
    super();
  }
}

export class AddSite extends SiteCommand<Site> {
  constructor(
    actor: Actor,
    host: string,
    readonly aliases: readonly string[] = [],
  ) {
    super(actor, host);
  }
}

export interface AliasRequest {
  readonly add: readonly string[];
  readonly remove: readonly string[];
}

export class ChangeAliases extends SiteCommand<Site> {
  constructor(
    actor: Actor,
    host: string,
    readonly request: AliasRequest,
  ) {
    super(actor, host);
  }
}

export class RemoveSite extends SiteCommand<Site> {}

export class EnableInbound extends SiteCommand<Site> {}

export class DisableInbound extends SiteCommand<Site> {}

export class PauseSite extends SiteCommand<Site> {}

export class ResumeSite extends SiteCommand<Site> {}

export class ChangeSiteSettings extends SiteCommand<Site> {
  constructor(
    actor: Actor,
    host: string,
    readonly request: SettingsRequest,
  ) {
    super(actor, host);
  }
}
