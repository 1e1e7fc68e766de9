import { type ConnectionEvent, SITE, type SiteEvent } from '../events/site.events.js';
import { UserError } from '../kernel/errors.js';
import { derivedUuid, uuidv7 } from '../kernel/uuid.js';
import type { NewEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Connection, Platform, PlatformName } from '../platforms/platform.js';
import { apiKeyPrefix, generateApiKey, hashApiKey } from './api-key.js';
import { connecting, disconnecting, parking, pausing, resuming, type SiteConnection } from './connection.js';
import { type ConnectRequest, changedConnection, generateWebhookSecret, NOT_CONNECTED } from './connection-settings.js';
import { normaliseHost } from './host.js';
import { evolve, type Site, type SiteKey } from './site.js';
import type { SiteSecrets } from './site-secrets.js';
import { changedSettings, type SettingsRequest } from './site-settings.js';
import { checkedWebhook, configuring, disabling, enabling, type SiteWebhook, type WebhookRequest } from './webhook.js';

const TRIES_MAX = 5;

/** What is done to sites, by operators. Each verb reads the site's stream, decides, and appends at the version it read. */
export class Sites {
  constructor(
    private readonly log: EventLog,
    private readonly secrets: SiteSecrets,
    /** Who is asking: `cli`, `system` or `user:<name>`. */
    private readonly actor: string,
  ) {}

  async register(hostText: string, aliasTexts: readonly string[] = []): Promise<Site> {
    const host = readHost(hostText);
    const aliases = [...new Set(aliasTexts.map(readHost))].filter((alias) => alias !== host);
    for (const name of [host, ...aliases]) {
      const owner = await this.findOwner(name);
      if (owner)
        throw new UserError(`${name} belongs to site ${owner.host} already. "sites show ${owner.host}" tells more.`);
    }
    // Before the event, because whoever sees the event needs the secret; one too many harms nobody.
    await this.secrets.ensure(host);
    return this.change(host, (site) => {
      if (site) throw new UserError(`Site ${host} exists already.`);
      return { type: 'site.registered.v1', data: { host, aliases } };
    });
  }

  enableInbound(host: string): Promise<Site> {
    return this.change(host, (site) => {
      return known(site, host).inbound ? undefined : { type: 'site.inbound_enabled.v1', data: {} };
    });
  }

  disableInbound(host: string): Promise<Site> {
    return this.change(host, (site) => {
      return known(site, host).inbound ? { type: 'site.inbound_disabled.v1', data: {} } : undefined;
    });
  }

  changeSettings(host: string, request: SettingsRequest): Promise<Site> {
    return this.change(host, (site) => {
      const settings = changedSettings(known(site, host).settings, request);
      return Object.keys(settings).length === 0 ? undefined : { type: 'site.settings_changed.v1', data: { settings } };
    });
  }

  /** The key itself is in the answer and nowhere else. */
  async issueKey(host: string, name: string, trial: boolean): Promise<SiteKey & { key: string }> {
    if (name.trim() === '' || name.length > 100)
      throw new UserError('--name: give the key a name of 1 to 100 characters.');
    const key = generateApiKey();
    const keyId = uuidv7();
    const site = await this.change(host, (site) => {
      known(site, host);
      return {
        type: 'site.key_issued.v1',
        data: { keyId, name, prefix: apiKeyPrefix(key), hash: hashApiKey(key), trial },
      };
    });
    return { ...findKey(site, keyId), key };
  }

  async revokeKey(host: string, keyId: string): Promise<SiteKey> {
    const site = await this.change(host, (site) => {
      const key = findKey(known(site, host), keyId);
      return key.status === 'revoked' ? undefined : { type: 'site.key_revoked.v1', data: { keyId } };
    });
    return findKey(site, keyId);
  }

  /**
   * Connects a platform, or changes what the request names of its connection and keeps the rest. A secret that was made
   * here is in the answer and nowhere else.
   */
  async connectPlatform(
    host: string,
    platform: Platform,
    request: ConnectRequest,
  ): Promise<{ connection: SiteConnection; madeSecret?: string | undefined }> {
    const spareSecret = generateWebhookSecret();
    let madeSecret: string | undefined;
    let earlierNames: readonly string[] = [];
    const site = await this.change(host, async (found) => {
      const site = known(found, host);
      const before = site.connections.find((connection) => connection.platform === platform.name);
      const current = await this.currentConnection(site.host, before);
      const next = changedConnection(platform, current, request, spareSecret);
      madeSecret = next.madeSecret;
      earlierNames = before?.secretNames ?? [];
      const changed = Object.entries(next.secrets).filter(([name, value]) => current.secrets[name] !== value);
      if (changed.length > 0)
        await this.secrets.storeConnectionSecrets(site.host, platform.name, Object.fromEntries(changed));
      return connecting(platform.name, before, next, changed.length > 0);
    });
    const connection = findConnection(site, platform.name);
    const dropped = earlierNames.filter((name) => !connection.secretNames.includes(name));
    await this.secrets.forgetConnectionSecrets(site.host, platform.name, dropped);
    return { connection, madeSecret };
  }

  async disconnectPlatform(host: string, platform: PlatformName): Promise<SiteConnection> {
    const { site, connection } = await this.changeConnection(host, platform, disconnecting);
    await this.secrets.forgetConnectionSecrets(site.host, platform, connection.secretNames);
    return connection;
  }

  /** With a reason it is the platform's doing, which says nothing about a connection that is no more. */
  async pausePlatform(host: string, platform: PlatformName, reason?: string): Promise<SiteConnection> {
    const { connection } = await this.changeConnection(host, platform, (connection, site) => {
      if (reason === undefined) demandConnected(connection, site);
      return pausing(connection, reason);
    });
    return connection;
  }

  async resumePlatform(host: string, platform: PlatformName): Promise<SiteConnection> {
    const { connection } = await this.changeConnection(host, platform, (connection, site) => {
      demandConnected(connection, site);
      return resuming(connection);
    });
    return connection;
  }

  /** The platform refuses the credentials. */
  async parkPlatform(host: string, platform: PlatformName, reason: string): Promise<SiteConnection> {
    const { connection } = await this.changeConnection(host, platform, (connection) => parking(connection, reason));
    return connection;
  }

  /** Where totals are pushed to. A secret that was made here is in the answer and nowhere else. */
  async setWebhook(
    host: string,
    request: WebhookRequest,
  ): Promise<{ webhook: SiteWebhook; madeSecret?: string | undefined }> {
    const { url, secret: given } = checkedWebhook(request);
    const spare = generateWebhookSecret();
    let [madeSecret, isNew]: [string | undefined, boolean] = [undefined, false];
    const site = await this.change(host, async (found) => {
      const site = known(found, host);
      const { secret: stored } = await this.secrets.connectionSecrets(site.host, 'outbound');
      const secret = given ?? stored ?? spare;
      if (secret !== stored) {
        const previous = stored === undefined ? {} : { previous: stored };
        await this.secrets.storeConnectionSecrets(site.host, 'outbound', { secret, ...previous });
        isNew = true;
      }
      if (secret === spare) madeSecret = spare;
      return configuring(site.webhook, url, isNew);
    });
    return { webhook: site.webhook as SiteWebhook, madeSecret };
  }

  async enableWebhook(host: string): Promise<SiteWebhook> {
    return this.changeWebhook(host, enabling);
  }

  /** With a reason it is the service's doing. */
  async disableWebhook(host: string, reason?: string): Promise<SiteWebhook> {
    return this.changeWebhook(host, (webhook) => disabling(webhook, reason));
  }

  /** By host or alias. */
  async get(hostText: string): Promise<Site> {
    return known(await this.findOwner(hostText), readHost(hostText));
  }

  /** Among all sites, by host or alias. */
  async findOwner(hostText: string): Promise<Site | undefined> {
    const host = readHost(hostText);
    return (await this.all()).find((site) => site.host === host || site.aliases.includes(host));
  }

  async all(): Promise<Site[]> {
    const sites = new Map<string, Site>();
    for (let after = 0; ; ) {
      const events = await this.log.read({ after, categories: [SITE], limit: 1_000 });
      for (const event of events) {
        const site = evolve(sites.get(event.stream), event);
        if (site) sites.set(event.stream, site);
      }
      const last = events.at(-1);
      if (!last) break;
      after = last.position;
    }
    return [...sites.values()];
  }

  /** As it can be built upon: one that was disconnected begins anew. */
  private async currentConnection(host: string, before: SiteConnection | undefined): Promise<Connection> {
    if (!before || before.disconnected) return NOT_CONNECTED;
    const { platform, settings, endpoint, secretNames } = before;
    const stored = Object.entries(await this.secrets.connectionSecrets(host, platform));
    const secrets = Object.fromEntries(stored.filter(([name]) => secretNames.includes(name)));
    return { settings, secrets, endpoint };
  }

  private async changeConnection(
    host: string,
    platform: PlatformName,
    decide: (connection: SiteConnection, site: Site) => ConnectionEvent | undefined,
  ): Promise<{ site: Site; connection: SiteConnection }> {
    const site = await this.change(host, (found) => {
      const site = known(found, host);
      return decide(findConnection(site, platform), site);
    });
    return { site, connection: findConnection(site, platform) };
  }

  private async changeWebhook(
    host: string,
    decide: (webhook: SiteWebhook) => SiteEvent | undefined,
  ): Promise<SiteWebhook> {
    const site = await this.change(host, (found) => decide(webhookOf(known(found, host))));
    return webhookOf(site);
  }

  private async change(
    hostText: string,
    decide: (site: Site | undefined) => SiteEvent | undefined | Promise<SiteEvent | undefined>,
  ): Promise<Site> {
    const host = readHost(hostText);
    const stream = siteId(host);
    for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
      const history = await this.log.readStream(SITE, stream);
      const site = history.reduce(evolve, undefined as Site | undefined);
      const event = await decide(site);
      if (!event) return site as Site;
      const events: [NewEvent] = [event];
      const outcome = await this.log.append({
        category: SITE,
        stream,
        expected: history.length,
        site: host,
        actor: this.actor,
        events,
      });
      if (outcome.status === 'appended')
        return (await this.log.readStream(SITE, stream)).reduce(evolve, undefined as Site | undefined) as Site;
      // Somebody else changed the site meanwhile: decide again on what it is now.
    }
    throw new UserError(`Site ${host} is being changed by somebody else at the same time. Try again.`);
  }
}

/** A site's stream follows from its host: two that register the same host meet in one stream, where one of them loses. */
function siteId(host: string): string {
  return derivedUuid(`site ${host}`);
}

function readHost(text: string): string {
  const host = normaliseHost(text);
  if (!host)
    throw new UserError(`"${text}" is not a host name. Give one such as shop.example, without https:// or a path.`);
  return host;
}

function known(site: Site | undefined, host: string): Site {
  if (!site) throw new UserError(`There is no site ${host}. Add it with "sites add ${host}".`);
  return site;
}

function findKey(site: Site, keyId: string): SiteKey {
  const key = site.keys.find((candidate) => candidate.id === keyId);
  if (!key)
    throw new UserError(`Site ${site.host} has no key ${keyId}. "keys list --site ${site.host}" shows those it has.`);
  return key;
}

function findConnection(site: Site, platform: PlatformName): SiteConnection {
  const connection = site.connections.find((candidate) => candidate.platform === platform);
  if (!connection) throw notConnected(site, platform);
  return connection;
}

function demandConnected({ platform, disconnected }: SiteConnection, site: Site): void {
  if (disconnected) throw notConnected(site, platform);
}

export function webhookOf({ host, webhook }: Site): SiteWebhook {
  if (!webhook)
    throw new UserError(`Site ${host} has no webhook. Set one with "webhook set --site ${host} --url https://…".`);
  return webhook;
}

function notConnected({ host }: Site, platform: PlatformName): UserError {
  return new UserError(
    `${platform} is not connected to ${host}. Connect it with "platforms connect ${platform} --site ${host}".`,
  );
}
