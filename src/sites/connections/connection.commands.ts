import type { Actor } from '../../kernel/command.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Platform } from '../../platforms/platform.js';
import { SiteCommand } from '../site.commands.js';
import type { SiteConnection } from './connection.js';
import type { ConnectRequest } from './connection-settings.js';

export interface ConnectedPlatform {
  readonly connection: SiteConnection;
  /** Present if the handler generated the secret. It is returned once and stored encrypted. */
  readonly generatedSecret?: string | undefined;
}

/** Makes a connection, or changes the settings that the request names. */
export class ConnectPlatform extends SiteCommand<ConnectedPlatform> {
  constructor(
    actor: Actor,
    host: string,
    readonly platform: Platform,
    readonly request: ConnectRequest,
    /** Name of the connection; the platform's, unless it is a further one of the platform. */
    readonly name: ConnectionName = platform.name,
  ) {
    super(actor, host);
  }
}

abstract class ConnectionCommand extends SiteCommand<SiteConnection> {
  constructor(
    actor: Actor,
    host: string,
    readonly platform: ConnectionName,
  ) {
    super(actor, host);
  }
}

export class DisconnectPlatform extends ConnectionCommand {}

/** With a reason the platform caused the pause, without one an operator did. */
export class PauseConnection extends ConnectionCommand {
  constructor(
    actor: Actor,
    host: string,
    platform: ConnectionName,
    readonly reason?: string,
  ) {
    super(actor, host, platform);
  }
}

export class ResumeConnection extends ConnectionCommand {}

/** Holds deliveries back because the platform rejects the credentials. */
export class ParkConnection extends ConnectionCommand {
  constructor(
    actor: Actor,
    host: string,
    platform: ConnectionName,
    readonly reason: string,
  ) {
    super(actor, host, platform);
  }
}
