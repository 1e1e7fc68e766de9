import type { ICommandHandler } from '@nestjs/cqrs';
import { CommandHandler } from '../../kernel/command.js';
import { UserError } from '../../kernel/errors.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Connection, Platform } from '../../platforms/platform.js';
import type { Site } from '../site.js';
import { SecretsHandler, SiteHandler } from '../site-command-handler.js';
import type { Decision, SiteRepository } from '../site-repository.js';
import type { SiteSecrets } from '../site-secrets.js';
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

/** Each is one more delivery of every conversion. */
const CONNECTIONS_MAX = 50;

@CommandHandler(ConnectPlatform)
export class ConnectPlatformHandler extends SecretsHandler implements ICommandHandler<ConnectPlatform> {
  async execute({ host, actor, platform, request, name }: ConnectPlatform): Promise<ConnectedPlatform> {
    const newSecret = generateWebhookSecret();
    let generatedSecret: string | undefined;
    const site = await this.sites.change(host, actor, async (site) => {
      const before = site.connections.find((connection) => connection.platform === name);
      requireRoom(site, before);
      const current = await this.currentConnection(site.host, platform, before, request);
      const next = changedConnection(platform, current, request, newSecret);
      generatedSecret = next.generatedSecret;
      const changed = Object.entries(next.secrets).filter(([name, value]) => current.secrets[name] !== value);
      const dropped = (before?.secretNames ?? []).filter((name) => next.secrets[name] === undefined);
      const event = connectPlatform(name, before, next, changed.length > 0);
      return (
        event && {
          events: [event],
          change: async (client) => {
            const secrets = this.secrets.within(client);
            if (changed.length > 0) await secrets.storeConnectionSecrets(site.host, name, Object.fromEntries(changed));
            if (dropped.length > 0) await secrets.deleteConnectionSecrets(site.host, name, dropped);
          },
        }
      );
    });
    return { connection: findConnection(site, name), generatedSecret };
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
export class DisconnectPlatformHandler extends SecretsHandler implements ICommandHandler<DisconnectPlatform> {
  async execute(command: DisconnectPlatform): Promise<SiteConnection> {
    return changeConnection(this.sites, command, (connection, { host }) => disconnect(connection, host, this.secrets));
  }
}

@CommandHandler(PauseConnection)
export class PauseConnectionHandler extends SiteHandler implements ICommandHandler<PauseConnection> {
  async execute(command: PauseConnection): Promise<SiteConnection> {
    const { reason } = command;
    return changeConnection(this.sites, command, (connection, site) => {
      // A platform's late answer about a disconnected connection is ignored.
      if (reason === undefined) requireConnected(connection, site);
      return pauseConnection(connection, reason);
    });
  }
}

@CommandHandler(ResumeConnection)
export class ResumeConnectionHandler extends SiteHandler implements ICommandHandler<ResumeConnection> {
  async execute(command: ResumeConnection): Promise<SiteConnection> {
    return changeConnection(this.sites, command, (connection, site) => {
      requireConnected(connection, site);
      return resumeConnection(connection);
    });
  }
}

@CommandHandler(ParkConnection)
export class ParkConnectionHandler extends SiteHandler implements ICommandHandler<ParkConnection> {
  async execute(command: ParkConnection): Promise<SiteConnection> {
    return changeConnection(this.sites, command, (connection) => parkConnection(connection, command.reason));
  }
}

async function changeConnection(
  sites: SiteRepository,
  { host, actor, platform }: DisconnectPlatform | PauseConnection | ResumeConnection | ParkConnection,
  decide: (connection: SiteConnection, site: Site) => Decision,
): Promise<SiteConnection> {
  const site = await sites.change(host, actor, (site) => decide(findConnection(site, platform), site));
  return findConnection(site, platform);
}

/** Ends the connection, and deletes its secrets with the event. */
export function disconnect(connection: SiteConnection, host: string, secrets: SiteSecrets): Decision {
  const event = disconnectPlatform(connection);
  const { platform, secretNames } = connection;
  return (
    event && {
      events: [event],
      change: (client) => secrets.within(client).deleteConnectionSecrets(host, platform, secretNames),
    }
  );
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
