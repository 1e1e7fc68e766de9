import type { ICommandHandler } from '@nestjs/cqrs';
import type { ConnectionEvent } from '../events/site.events.js';
import { CommandHandler } from '../kernel/command.js';
import { UserError } from '../kernel/errors.js';
import type { ConnectionName } from '../platforms/connection-name.js';
import type { Connection, Platform } from '../platforms/platform.js';
import {
  type ConnectedPlatform,
  ConnectPlatform,
  DisconnectPlatform,
  ParkConnection,
  PauseConnection,
  ResumeConnection,
} from './connection.commands.js';
import {
  connectPlatform,
  disconnectPlatform,
  parkConnection,
  pauseConnection,
  resumeConnection,
  type SiteConnection,
} from './connection.js';
import { type ConnectRequest, changedConnection, generateWebhookSecret, newConnection } from './connection-settings.js';
import type { Site } from './site.js';
import type { SiteRepository } from './site-repository.js';
import type { SiteSecrets } from './site-secrets.js';

/** Each is one more delivery of every conversion. */
const CONNECTIONS_MAX = 50;

@CommandHandler(ConnectPlatform)
export class ConnectPlatformHandler implements ICommandHandler<ConnectPlatform> {
  constructor(
    private readonly sites: SiteRepository,
    private readonly secrets: SiteSecrets,
  ) {}

  async execute({ host, actor, platform, request, name }: ConnectPlatform): Promise<ConnectedPlatform> {
    const newSecret = generateWebhookSecret();
    let generatedSecret: string | undefined;
    let earlierNames: readonly string[] = [];
    const site = await this.sites.change(host, actor, async (site) => {
      const before = site.connections.find((connection) => connection.platform === name);
      requireRoom(site, before);
      const current = await this.currentConnection(site.host, platform, before, request);
      const next = changedConnection(platform, current, request, newSecret);
      generatedSecret = next.generatedSecret;
      earlierNames = before?.secretNames ?? [];
      const changed = Object.entries(next.secrets).filter(([name, value]) => current.secrets[name] !== value);
      if (changed.length > 0) await this.secrets.storeConnectionSecrets(site.host, name, Object.fromEntries(changed));
      return connectPlatform(name, before, next, changed.length > 0);
    });
    const connection = findConnection(site, name);
    const dropped = earlierNames.filter((name) => !connection.secretNames.includes(name));
    await this.secrets.deleteConnectionSecrets(site.host, name, dropped);
    return { connection, generatedSecret };
  }

  /** What the request changes. A disconnected connection starts anew. */
  private async currentConnection(
    host: string,
    platform: Platform,
    before: SiteConnection | undefined,
    { tokensFrom }: ConnectRequest,
  ): Promise<Connection> {
    if (!before || before.disconnected) return newConnection(platform, tokensFrom?.endpoint);
    const { settings, endpoint, secretNames } = before;
    const stored = Object.entries(await this.secrets.connectionSecrets(host, before.platform));
    const secrets = Object.fromEntries(stored.filter(([name]) => secretNames.includes(name)));
    return { settings, secrets, endpoint };
  }
}

@CommandHandler(DisconnectPlatform)
export class DisconnectPlatformHandler implements ICommandHandler<DisconnectPlatform> {
  constructor(
    private readonly sites: SiteRepository,
    private readonly secrets: SiteSecrets,
  ) {}

  async execute(command: DisconnectPlatform): Promise<SiteConnection> {
    const { site, connection } = await changeConnection(this.sites, command, disconnectPlatform);
    await this.secrets.deleteConnectionSecrets(site.host, command.platform, connection.secretNames);
    return connection;
  }
}

@CommandHandler(PauseConnection)
export class PauseConnectionHandler implements ICommandHandler<PauseConnection> {
  constructor(private readonly sites: SiteRepository) {}

  async execute(command: PauseConnection): Promise<SiteConnection> {
    const { reason } = command;
    const { connection } = await changeConnection(this.sites, command, (connection, site) => {
      // A platform's late answer about a disconnected connection is ignored.
      if (reason === undefined) requireConnected(connection, site);
      return pauseConnection(connection, reason);
    });
    return connection;
  }
}

@CommandHandler(ResumeConnection)
export class ResumeConnectionHandler implements ICommandHandler<ResumeConnection> {
  constructor(private readonly sites: SiteRepository) {}

  async execute(command: ResumeConnection): Promise<SiteConnection> {
    const { connection } = await changeConnection(this.sites, command, (connection, site) => {
      requireConnected(connection, site);
      return resumeConnection(connection);
    });
    return connection;
  }
}

@CommandHandler(ParkConnection)
export class ParkConnectionHandler implements ICommandHandler<ParkConnection> {
  constructor(private readonly sites: SiteRepository) {}

  async execute(command: ParkConnection): Promise<SiteConnection> {
    const { connection } = await changeConnection(this.sites, command, (connection) =>
      parkConnection(connection, command.reason),
    );
    return connection;
  }
}

async function changeConnection(
  sites: SiteRepository,
  { host, actor, platform }: DisconnectPlatform | PauseConnection | ResumeConnection | ParkConnection,
  decide: (connection: SiteConnection, site: Site) => ConnectionEvent | undefined,
): Promise<{ site: Site; connection: SiteConnection }> {
  const site = await sites.change(host, actor, (site) => decide(findConnection(site, platform), site));
  return { site, connection: findConnection(site, platform) };
}

function findConnection(site: Site, platform: ConnectionName): SiteConnection {
  const connection = site.connections.find((candidate) => candidate.platform === platform);
  if (!connection) throw notConnected(site, platform);
  return connection;
}

/** A new connection, or one that was disconnected, counts towards the limit. */
function requireRoom({ host, connections }: Site, before: SiteConnection | undefined): void {
  if (before && !before.disconnected) return;
  if (connections.filter(({ disconnected }) => !disconnected).length < CONNECTIONS_MAX) return;
  throw new UserError(
    `${host} has ${CONNECTIONS_MAX} connections, the maximum. Disconnect one first: "platforms list --site ${host}" lists them.`,
  );
}

function requireConnected({ platform, disconnected }: SiteConnection, site: Site): void {
  if (disconnected) throw notConnected(site, platform);
}

function notConnected({ host }: Site, platform: ConnectionName): UserError {
  return new UserError(
    `${platform} is not connected to ${host}. Connect it with "platforms connect ${platform} --site ${host}".`,
  );
}
