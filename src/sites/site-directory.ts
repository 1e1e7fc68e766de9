import { AUTH, type AuthFailure } from '../events/auth.events.js';
import { SITE, streamIdOf } from '../events/site.events.js';
import type { Clock } from '../kernel/clock.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import { derivedUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Follower } from '../log/follower.js';
import { type ConnectionName, compareConnections } from '../platforms/connection-name.js';
import { platformOfConnection } from '../platforms/index.js';
import type { SiteConnection } from './connections/connection.js';
import { asArriving, asHeld, type Holding } from './holding.js';
import { normaliseHost } from './host.js';
import { API_KEY_LENGTH, hashApiKey, looksLikeApiKey } from './keys/api-key.js';
import { AuthThrottle } from './keys/auth-throttle.js';
import { evolve, isClosed, keyState, type Site, type SiteKey } from './site.js';
import type { ConnectionSecrets, SiteSecrets } from './site-secrets.js';
import { type LoadedSource, loadSources } from './sources/loaded-source.js';

/** A revocation takes effect on every instance within a second. An instance that read the log longer ago reads it first. */
const FRESH_FOR_MS = 1_000;

export interface DirectoryOptions {
  readonly authFailureLimit: number;
  readonly authFailureWindowMs: number;
  /** Identifies this process; a restarted one has another id. */
  readonly instance: string;
  readonly clock: Clock;
  warn?(line: string): void;
}

export type KeyCheck =
  | { readonly ok: true; readonly key: SiteKey }
  /** `retryAfterS` is set when the site is throttled. */
  | { readonly ok: false; readonly retryAfterS: number | undefined };

/** A site with its secrets loaded, as requests need it. */
export interface LoadedSite {
  readonly site: Site;
  readonly dedupSecret: string;
  readonly keysByHash: ReadonlyMap<string, SiteKey>;
  /** Without disconnected ones, in the order of a receipt. */
  readonly connections: ReadonlyMap<ConnectionName, LoadedConnection>;
  /** Senders of webhooks, by the id of their connection. */
  readonly sources: ReadonlyMap<string, LoadedSource>;
  /** Version of its stream: reading the settings as of it gives the same ones. */
  readonly siteVersion: number;
}

export interface LoadedConnection {
  readonly connection: SiteConnection;
  readonly secrets: ConnectionSecrets;
  /** Secrets that are not stored or cannot be opened. Nothing can be sent while one is missing. */
  readonly missingSecrets: readonly string[];
}

/** After these the secrets of a site are read again. */
const RELOADING: ReadonlySet<string> = new Set([
  'site.platform_connected.v1',
  'site.source_connected.v1',
  'site.moved_in.v1',
]);

/** All sites in memory, updated by following the log. A request needs no query. */
export class SiteDirectory {
  /** As the log says. */
  private byId: ReadonlyMap<string, LoadedSite> = new Map();
  /** Sites whose events are being copied. */
  private incomplete: ReadonlySet<string> = new Set();
  /** Sites that other cells have, which this log does not know. */
  private elsewhere: readonly Holding[] = [];
  private present: readonly LoadedSite[] = [];
  private byHost = new Map<string, LoadedSite>();
  private readonly throttle: AuthThrottle;
  private siteFollower: Follower | undefined;
  private lastUpdate: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly log: EventLog,
    private readonly secrets: SiteSecrets,
    private readonly options: DirectoryOptions,
  ) {
    this.throttle = new AuthThrottle({
      limit: options.authFailureLimit,
      windowMs: options.authFailureWindowMs,
      instance: options.instance,
      record: (site, event) => {
        const stream = derivedUuid(`auth ${site}`);
        // A lost event allows one more attempt. Waiting for the database would let wrong keys slow the service down.
        log.append({ category: AUTH, stream, expected: 'any', site, actor: 'system', events: [event] }).catch(() => {});
      },
    });
  }

  async start(): Promise<void> {
    const onLost = () => this.serialise(() => this.readAgain());
    this.siteFollower = await this.log.follow({ name: 'sites', after: 0, categories: [SITE], onLost }, (events) =>
      this.serialise(() => this.applyAll(events, this.byId)),
    );
    const windowStart = new Date(this.options.clock.nowMs() - this.options.authFailureWindowMs);
    const after = await this.log.positionBefore(windowStart);
    await this.log.follow({ name: 'auth', after, categories: [AUTH] }, (events) => {
      for (const event of events) this.throttle.apply(event);
    });
  }

  /** By host or alias. Most senders use the canonical form, so the host is normalised only if that finds nothing. */
  find(host: string | undefined): LoadedSite | undefined {
    if (host === undefined) return undefined;
    const site = this.byHost.get(host);
    if (site) return site;
    const normalised = normaliseHost(host);
    return normalised === undefined ? undefined : this.byHost.get(normalised);
  }

  all(): LoadedSite[] {
    return [...this.present];
  }

  /** All sites as the log says, whatever other cells say. */
  logged(): LoadedSite[] {
    return [...this.byId.values()]
      .filter(({ site }) => !site.removed)
      .map((loaded) => withSite(loaded, asArriving(loaded.site, this.incomplete)));
  }

  /** Closes these sites until another call, or until they come here by a later move. */
  setElsewhere(holdings: readonly Holding[]): void {
    this.elsewhere = holdings;
    this.indexHosts();
  }

  /** Whether the host belonged to a site that was removed and not added again. */
  wasRemoved(host: string): boolean {
    return [...this.byId.values()].some(({ site }) => site.removed && site.host === host);
  }

  isFresh(): boolean {
    return this.siteFollower !== undefined && this.siteFollower.ageMs < FRESH_FOR_MS;
  }

  /** Reads the log before a key is checked, for a process that was suspended or disconnected. */
  async refresh(): Promise<void> {
    try {
      if (this.siteFollower) await withLogTimeout(this.siteFollower.poll());
    } catch {
      throw new LogUnavailable('The log cannot be read, so API keys cannot be checked');
    }
  }

  /** After a secret was replaced by this or another instance, which no event reports. */
  async reloadSecrets(host: string, platform: ConnectionName): Promise<void> {
    await this.serialise(async () => {
      const secrets = await withLogTimeout(this.secrets.connectionSecrets(host, platform));
      const id = `${SITE}-${streamIdOf(this.find(host)?.site.host ?? host)}`;
      const loaded = this.byId.get(id);
      const before = loaded?.connections.get(platform);
      if (!loaded || !before) return;
      const connections = new Map(loaded.connections).set(platform, loadConnection(before.connection, secrets));
      this.byId = new Map(this.byId).set(id, { ...loaded, connections });
      this.indexHosts();
    });
  }

  /** Checks the key before the throttle, so that a valid key is never throttled. */
  checkKey(loaded: LoadedSite, text: string | undefined): KeyCheck {
    // One hash lookup accepts a valid key. The reason of a failure is determined afterwards.
    const key =
      text !== undefined && text.length === API_KEY_LENGTH ? loaded.keysByHash.get(hashApiKey(text)) : undefined;
    const nowMs = this.options.clock.nowMs();
    const state = key && keyState(key, nowMs);
    if (key && state === 'active') return { ok: true, key };
    const unknown = !text ? 'missing' : looksLikeApiKey(text) ? 'unknown' : 'malformed';
    const failure: AuthFailure = state && state !== 'active' ? state : unknown;
    return { ok: false, retryAfterS: this.throttle.fail(loaded.site.host, failure, nowMs) };
  }

  /** Counts a delivery that is not authentic. Returns the seconds until the throttle ends, or undefined. */
  refuseDelivery(loaded: LoadedSite): number | undefined {
    return this.throttle.fail(loaded.site.host, 'signature', this.options.clock.nowMs());
  }

  flushFailures(): void {
    this.throttle.flush(this.options.clock.nowMs());
  }

  /** Runs updates one after the other, so that secrets read earlier never overwrite secrets read later. */
  private serialise<Result>(update: () => Promise<Result>): Promise<Result> {
    const current = this.lastUpdate.then(update);
    this.lastUpdate = current.catch(() => {});
    return current;
  }

  /** A failover has lost events that were applied. Until all are read again, the sites stay as they were. */
  private async readAgain(): Promise<StoredEvent | undefined> {
    const events = await this.log.read({ categories: [SITE] });
    await this.applyAll(events, new Map());
    return events.at(-1);
  }

  /** Folds into a copy and swaps it in at the end, so that a batch that fails can be applied again as a whole. */
  private async applyAll(events: StoredEvent[], known: ReadonlyMap<string, LoadedSite>): Promise<void> {
    // After the events: a site arrives before the first of its own.
    const incomplete = await this.log.incompleteSites();
    const folded = new Map<string, { site: Site; version: number }>();
    const connected = new Set<string>();
    const begun = new Set<string>();
    for (const event of events) {
      const before = folded.get(event.stream)?.site ?? known.get(event.stream)?.site;
      const site = evolve(before, event);
      if (!site) continue;
      folded.set(event.stream, { site, version: event.version });
      if (event.type === 'site.registered.v1') begun.add(event.stream);
      // The secrets of a site that moves follow its events.
      if (RELOADING.has(event.type)) connected.add(site.host);
    }
    const dedupSecrets = new Map<string, string>();
    for (const [id, { site }] of folded) {
      // An earlier site with the host had another secret.
      const before = begun.has(id) ? undefined : known.get(id);
      dedupSecrets.set(id, before?.dedupSecret ?? (await this.secrets.dedupSecret(site.host)));
    }
    const stored =
      connected.size > 0 ? await withLogTimeout(this.secrets.connectionSecretsOf([...connected])) : undefined;
    const loaded = new Map(known);
    for (const [id, { site, version }] of folded) {
      const before = known.get(id)?.connections;
      const reloaded = connected.has(site.host)
        ? (stored?.get(site.host) ?? new Map<string, ConnectionSecrets>())
        : undefined;
      const connections = loadConnections(site, (platform) =>
        reloaded ? reloaded.get(platform) : before?.get(platform)?.secrets,
      );
      if (reloaded && !isClosed(site) && !incomplete.has(site.host))
        this.warnAboutMissingSecrets(site.host, connections);
      loaded.set(id, {
        site,
        dedupSecret: dedupSecrets.get(id) as string,
        keysByHash: new Map(site.keys.map((key) => [key.hash, key])),
        connections,
        sources: loadSources(site.sources, known.get(id)?.sources, reloaded),
        siteVersion: version,
      });
    }
    this.byId = loaded;
    this.incomplete = incomplete;
    this.indexHosts();
  }

  private indexHosts(): void {
    this.present = this.logged().map((loaded) => withSite(loaded, asHeld(loaded.site, this.elsewhere)));
    this.byHost = new Map();
    for (const loaded of this.present) {
      // Hosts take precedence over aliases and earlier sites over later ones, so an alias cannot take over a host.
      for (const name of [loaded.site.host, ...loaded.site.aliases])
        if (!this.byHost.has(name)) this.byHost.set(name, loaded);
    }
    for (const loaded of this.present) this.byHost.set(loaded.site.host, loaded);
  }

  private warnAboutMissingSecrets(host: string, connections: ReadonlyMap<ConnectionName, LoadedConnection>): void {
    for (const [platform, { missingSecrets }] of connections) {
      if (missingSecrets.length === 0) continue;
      const names = missingSecrets.join(', ');
      this.options.warn?.(
        `Nothing can be sent to ${platform} for ${host}: its ${names} cannot be opened. Check SECRET_KEY, or set it ` +
          `again with "platforms connect ${platform} --site ${host} --set <name>=<value>".`,
      );
    }
  }
}

function withSite(loaded: LoadedSite, site: Site): LoadedSite {
  return site === loaded.site ? loaded : { ...loaded, site };
}

function loadConnections(
  site: Site,
  secretsOf: (platform: ConnectionName) => ConnectionSecrets | undefined,
): Map<ConnectionName, LoadedConnection> {
  const connected = site.connections.filter(
    (connection) => !connection.disconnected && platformOfConnection(connection) !== undefined,
  );
  return new Map(
    connected
      .sort((one, other) => compareConnections(one.platform, other.platform))
      .map((connection) => [connection.platform, loadConnection(connection, secretsOf(connection.platform) ?? {})]),
  );
}

function loadConnection(connection: SiteConnection, stored: ConnectionSecrets): LoadedConnection {
  const names = connection.secretNames;
  const secrets = Object.fromEntries(Object.entries(stored).filter(([name]) => names.includes(name)));
  return { connection, secrets, missingSecrets: names.filter((name) => secrets[name] === undefined) };
}
