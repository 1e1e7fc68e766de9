import { AUTH, type AuthFailure } from '../events/auth.events.js';
import { SITE } from '../events/site.events.js';
import { LogUnavailable } from '../kernel/errors.js';
import { withLogTimeout } from '../kernel/log-timeout.js';
import { derivedUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Follower } from '../log/follower.js';
import { PLATFORM_NAMES, type PlatformName } from '../platforms/platform.js';
import { API_KEY_LENGTH, hashApiKey, looksLikeApiKey } from './api-key.js';
import { AuthThrottle } from './auth-throttle.js';
import type { SiteConnection } from './connection.js';
import { normaliseHost } from './host.js';
import { evolve, type Site, type SiteKey } from './site.js';
import type { ConnectionSecrets, SiteSecrets } from './site-secrets.js';

/** A revocation must reach every instance within a second: one that has not looked for longer looks first. */
const JUDGE_WITHIN_MS = 1_000;

export interface DirectoryOptions {
  readonly authFailureLimit: number;
  readonly authFailureWindowMs: number;
  /** Distinguishes this process from others and from its earlier self. */
  readonly instance: string;
  warn?(line: string): void;
}

export type KeyVerdict =
  | { readonly ok: true; readonly key: SiteKey }
  /** `retryAfterS` is there when the site has seen too many failures. */
  | { readonly ok: false; readonly retryAfterS: number | undefined };

/** A site as requests need it. */
export interface OpenSite {
  readonly site: Site;
  readonly dedupSecret: string;
  readonly keysByHash: ReadonlyMap<string, SiteKey>;
  /** Those that are connected, in the order a receipt lists them. */
  readonly connections: ReadonlyMap<PlatformName, OpenConnection>;
  /** Of the newest event of the site that is in here: its settings, seen again as of this position, are the same. */
  readonly settingsPosition: number;
}

export interface OpenConnection {
  readonly connection: SiteConnection;
  readonly secrets: ConnectionSecrets;
  /** Secrets that it should have and that are not there, or do not open here. Nothing can be sent while one is missing. */
  readonly missingSecrets: readonly string[];
}

/** All sites, folded in memory and kept current by the log: a request costs no query. */
export class SiteDirectory {
  private readonly byId = new Map<string, OpenSite>();
  private byHost = new Map<string, OpenSite>();
  private readonly throttle: AuthThrottle;
  private siteFollower: Follower | undefined;
  private lastTurn: Promise<unknown> = Promise.resolve();

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
        // A lost count lets an attacker try once more; a refusal that waits for the database would let him do worse.
        log.append({ category: AUTH, stream, expected: 'any', site, actor: 'system', events: [event] }).catch(() => {});
      },
    });
  }

  async start(): Promise<void> {
    this.siteFollower = await this.log.follow({ name: 'sites', after: 0, categories: [SITE] }, (events) =>
      this.inTurn(() => this.applyAll(events)),
    );
    const windowBegan = new Date(Date.now() - this.options.authFailureWindowMs);
    const after = await this.log.positionBefore(windowBegan);
    await this.log.follow({ name: 'auth', after, categories: [AUTH] }, (events) => {
      for (const event of events) this.throttle.apply(event);
    });
  }

  /** By host or alias, in any spelling: most senders use the one we keep. */
  find(host: string | undefined): OpenSite | undefined {
    if (host === undefined) return undefined;
    const open = this.byHost.get(host);
    if (open) return open;
    const normalised = normaliseHost(host);
    return normalised === undefined ? undefined : this.byHost.get(normalised);
  }

  all(): OpenSite[] {
    return [...this.byId.values()];
  }

  isFresh(): boolean {
    return this.siteFollower !== undefined && this.siteFollower.ageMs < JUDGE_WITHIN_MS;
  }

  /** For a process that was frozen or cut off: looks at the log before it judges a key. */
  async refresh(): Promise<void> {
    try {
      if (this.siteFollower) await withLogTimeout(this.siteFollower.look());
    } catch {
      throw new LogUnavailable('The log cannot be asked whether keys are still good');
    }
  }

  /** After a secret was replaced, here or by another instance: no event tells of that. */
  async reloadSecrets(host: string, platform: PlatformName): Promise<void> {
    await this.inTurn(async () => {
      const secrets = await withLogTimeout(this.secrets.connectionSecrets(host, platform));
      const open = this.find(host);
      const before = open?.connections.get(platform);
      if (!open || !before) return;
      const connections = new Map(open.connections).set(platform, openConnection(before.connection, secrets));
      this.byId.set(`${SITE}-${open.site.id}`, { ...open, connections });
      this.indexHosts();
    });
  }

  /** The key is judged first, always; only a failure meets the throttle. */
  judgeKey(open: OpenSite, text: string | undefined, nowMs: number): KeyVerdict {
    // The digest alone tells a good key; what is wrong with a bad one is looked at afterwards.
    const key =
      text !== undefined && text.length === API_KEY_LENGTH ? open.keysByHash.get(hashApiKey(text)) : undefined;
    if (key?.status === 'active') return { ok: true, key };
    const failure: AuthFailure = key ? 'revoked' : !text ? 'missing' : looksLikeApiKey(text) ? 'unknown' : 'malformed';
    return { ok: false, retryAfterS: this.throttle.fail(open.site.host, failure, nowMs) };
  }

  sumUpFailures(nowMs: number): void {
    this.throttle.sumUp(nowMs);
  }

  /** One after the other: what was read from the table of secrets first must not be put in place last. */
  private inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const turn = this.lastTurn.then(work);
    this.lastTurn = turn.catch(() => {});
    return turn;
  }

  /** Folds aside and puts everything in place at the end: what fails on the way is applied again as a whole. */
  private async applyAll(events: StoredEvent[]): Promise<void> {
    const folded = new Map<string, { site: Site; position: number }>();
    const connected = new Set<string>();
    for (const event of events) {
      const before = folded.get(event.stream)?.site ?? this.byId.get(event.stream)?.site;
      const site = evolve(before, event);
      if (!site) continue;
      folded.set(event.stream, { site, position: event.position });
      if (event.type === 'site.platform_connected.v1') connected.add(site.host);
    }
    const dedupSecrets = new Map<string, string>();
    for (const [id, { site }] of folded) {
      dedupSecrets.set(id, this.byId.get(id)?.dedupSecret ?? (await this.secrets.dedupSecret(site.host)));
    }
    const stored =
      connected.size > 0 ? await withLogTimeout(this.secrets.connectionSecretsOf([...connected])) : undefined;
    for (const [id, { site, position }] of folded) {
      const before = this.byId.get(id)?.connections;
      const fresh = connected.has(site.host)
        ? (stored?.get(site.host) ?? new Map<string, ConnectionSecrets>())
        : undefined;
      const connections = openConnections(site, (platform) =>
        fresh ? fresh.get(platform) : before?.get(platform)?.secrets,
      );
      if (fresh) this.warnOfMissing(site.host, connections);
      this.byId.set(id, {
        site,
        dedupSecret: dedupSecrets.get(id) as string,
        keysByHash: new Map(site.keys.map((key) => [key.hash, key])),
        connections,
        settingsPosition: position,
      });
    }
    this.indexHosts();
  }

  private indexHosts(): void {
    this.byHost = new Map();
    for (const open of this.byId.values()) {
      // Hosts before aliases, earlier sites before later ones: nobody takes a name over by adding it as an alias.
      for (const name of [open.site.host, ...open.site.aliases])
        if (!this.byHost.has(name)) this.byHost.set(name, open);
    }
    for (const open of this.byId.values()) this.byHost.set(open.site.host, open);
  }

  private warnOfMissing(host: string, connections: ReadonlyMap<PlatformName, OpenConnection>): void {
    for (const [platform, { missingSecrets }] of connections) {
      if (missingSecrets.length === 0) continue;
      const names = missingSecrets.join(', ');
      this.options.warn?.(
        `Nothing can be sent to ${platform} for ${host}: its ${names} cannot be opened. Check SECRET_KEY, or give it ` +
          `again with "platforms connect ${platform} --site ${host} --set <name>=<value>".`,
      );
    }
  }
}

function openConnections(
  site: Site,
  secretsOf: (platform: PlatformName) => ConnectionSecrets | undefined,
): Map<PlatformName, OpenConnection> {
  const connections = new Map<PlatformName, OpenConnection>();
  for (const platform of PLATFORM_NAMES) {
    const connection = site.connections.find((candidate) => candidate.platform === platform);
    if (connection && !connection.disconnected)
      connections.set(platform, openConnection(connection, secretsOf(platform) ?? {}));
  }
  return connections;
}

function openConnection(connection: SiteConnection, stored: ConnectionSecrets): OpenConnection {
  const names = connection.secretNames;
  const secrets = Object.fromEntries(Object.entries(stored).filter(([name]) => names.includes(name)));
  return { connection, secrets, missingSecrets: names.filter((name) => secrets[name] === undefined) };
}
