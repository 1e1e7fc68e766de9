import type { Actor } from '../../kernel/command.js';
import { SiteCommand } from '../site.commands.js';
import type { SiteKey } from '../site.js';

export interface IssuedKey extends SiteKey {
  /** The key itself. It is returned once; only its hash is stored. */
  readonly key: string;
}

export class IssueKey extends SiteCommand<IssuedKey> {
  constructor(
    actor: Actor,
    host: string,
    readonly name: string,
    readonly trial: boolean,
  ) {
    super(actor, host);
  }
}

export class RevokeKey extends SiteCommand<SiteKey> {
  constructor(
    actor: Actor,
    host: string,
    readonly keyId: string,
  ) {
    super(actor, host);
  }
}

/** Replaces a key by a new one with the same name. */
export class RotateKey extends SiteCommand<IssuedKey> {
  constructor(
    actor: Actor,
    host: string,
    readonly keyId: string,
    /** The replaced key is refused from then on. */
    readonly expiresAt: string,
  ) {
    super(actor, host);
  }
}
