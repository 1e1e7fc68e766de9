import type { Actor } from '../../kernel/command.js';
import type { Mapping } from '../../sources/mapping/mapping.js';
import { SiteCommand } from '../site.commands.js';
import type { SiteSource } from './site-source.js';

export interface ConnectedSource {
  readonly connection: SiteSource;
  /** Present if the handler generated the secret. It is returned once and stored encrypted. */
  readonly generatedSecret?: string | undefined;
}

/** Connects a source, or sets the secret of a connected one. */
export class ConnectSource extends SiteCommand<ConnectedSource> {
  constructor(
    actor: Actor,
    host: string,
    readonly source: string,
    readonly secret: string | undefined,
  ) {
    super(actor, host);
  }
}

/** Replaces the secret. The one before is accepted until the overlap ends. */
export class RotateSource extends SiteCommand<ConnectedSource> {
  constructor(
    actor: Actor,
    host: string,
    readonly source: string,
    /** Undefined: it is generated. */
    readonly secret: string | undefined,
    readonly previousUntil: string,
  ) {
    super(actor, host);
  }
}

export class ChangeSourceMapping extends SiteCommand<ConnectedSource> {
  constructor(
    actor: Actor,
    host: string,
    readonly source: string,
    /** Empty expressions remove a rule. */
    readonly changes: Mapping,
    /** Changes the rules of the source, not those of the site. */
    readonly isWhole = false,
  ) {
    super(actor, host);
  }
}

export class DisconnectSource extends SiteCommand<ConnectedSource> {
  constructor(
    actor: Actor,
    host: string,
    readonly source: string,
  ) {
    super(actor, host);
  }
}
