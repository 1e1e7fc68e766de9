import { Injectable } from '@nestjs/common';
import { CommandBus } from '@nestjs/cqrs';
import { Logger } from '../../kernel/logger.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import { platformOfConnection } from '../../platforms/index.js';
import type { Connection, Platform } from '../../platforms/platform.js';
import { ParkConnection, PauseConnection, ResumeConnection } from '../../sites/connections/connection.commands.js';
import type { SiteConnection } from '../../sites/connections/connection.js';
import { isClosed, isHeld, type Site } from '../../sites/site.js';
import { type LoadedSite, SiteDirectory } from '../../sites/site-directory.js';

export interface Destination {
  readonly site: Site;
  readonly platform: Platform;
  /** With its state and every version of its settings. */
  readonly siteConnection: SiteConnection;
  /** Current settings and secrets, for requests. */
  readonly connection: Connection;
  /**
   * `parked` also while a secret cannot be read: either way an operator must provide credentials. `paused` also while the site
   * is, or moves.
   */
  readonly state: SiteConnection['state'];
}

/** Looks up and changes the connections of sites on behalf of deliveries. */
@Injectable()
export class Connections {
  /** A site that changes is loaded anew, so what was found in one stays right. Every delivery looks its connection up. */
  private readonly found = new WeakMap<LoadedSite, Map<ConnectionName, Destination>>();

  constructor(
    private readonly directory: SiteDirectory,
    private readonly logger: Logger,
    private readonly commands: CommandBus,
  ) {}

  /** As of now; undefined if there is no such connection. */
  find(host: string, name: ConnectionName): Destination | undefined {
    const loaded = this.directory.find(host);
    if (!loaded) return undefined;
    let destinations = this.found.get(loaded);
    if (!destinations) {
      destinations = new Map();
      this.found.set(loaded, destinations);
    }
    let destination = destinations.get(name);
    if (!destination) {
      destination = destinationOf(loaded, name);
      if (destination) destinations.set(name, destination);
    }
    return destination;
  }

  /**
   * Whether this cell delivers for the site. Not before the site is known: what was copied from another log is read by several readers.
   * Deliveries of a removed site end without a request.
   */
  actsFor(host: string): boolean {
    const found = this.directory.find(host);
    return found ? !isClosed(found.site) : this.directory.wasRemoved(host);
  }

  /** Whether the site has moved to another cell, which owes its deliveries. */
  hasLeft(host: string): boolean {
    return this.directory.find(host)?.site.move?.state === 'left';
  }

  /** The sites that another cell acts for. */
  closedSites(): string[] {
    return this.directory.all().flatMap(({ site }) => (isClosed(site) ? [site.host] : []));
  }

  async park(site: string, platform: ConnectionName, reason: string): Promise<void> {
    await this.commands.execute(new ParkConnection('system', site, platform, reason));
    await this.changed(
      'The platform refuses the credentials or the settings: connection parked until they are fixed',
      site,
      platform,
    );
  }

  async pause(site: string, platform: ConnectionName, reason: string): Promise<void> {
    await this.commands.execute(new PauseConnection('system', site, platform, reason));
    await this.changed('The receiver accepts no more conversions: connection paused', site, platform);
  }

  async resume(site: string, platform: ConnectionName): Promise<void> {
    await this.commands.execute(new ResumeConnection('system', site, platform));
    await this.changed('A parked connection works again: connection resumed', site, platform);
  }

  /** Reads the secrets from the database: another instance may have replaced the refresh token. */
  async reload(site: string, name: ConnectionName): Promise<Connection | undefined> {
    await this.directory.reloadSecrets(site, name);
    return this.find(site, name)?.connection;
  }

  /** Refreshes the directory before the queue continues, so that it continues in the new state. */
  private async changed(message: string, site: string, platform: ConnectionName): Promise<void> {
    await this.directory.refresh();
    this.logger.warn(message, { site, platform });
  }
}

function destinationOf({ site, connections }: LoadedSite, name: ConnectionName): Destination | undefined {
  const loaded = connections.get(name);
  const platform = platformOfConnection(loaded?.connection);
  if (!platform || !loaded) return undefined;
  const { connection: siteConnection, secrets, missingSecrets } = loaded;
  const { settings, endpoint } = siteConnection;
  return {
    site,
    platform,
    siteConnection,
    connection: { settings, secrets, endpoint },
    state: isHeld(site) ? 'paused' : missingSecrets.length > 0 ? 'parked' : siteConnection.state,
  };
}
