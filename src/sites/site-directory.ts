import { LogUnavailable } from '../kernel/errors.js';
import { answerOf } from '../kernel/patience.js';
import { derivedUuid } from '../kernel/uuid.js';
import type { StoredEvent } from '../log/event.js';
import type { EventLog } from '../log/event-log.js';
import type { Follower } from '../log/follower.js';
import { API_KEY_LENGTH, hashApiKey, looksLikeApiKey } from './api-key.js';
import { AUTH, type AuthFailure, AuthThrottle } from './auth-throttle.js';
import { normaliseHost } from './host.js';
import { evolve, SITE, type Site, type SiteKey } from './site.js';
import type { SiteSecrets } from './site-secrets.js';

/** A revocation must reach every instance within a second: one that has not looked for longer looks first. */
const JUDGE_WITHIN_MS = 1_000;

export interface DirectoryOptions {
  readonly authFailureLimit: number;
  readonly authFailureWindowMs: number;
  /** Distinguishes this process from others and from its earlier self. */
  readonly instance: string;
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
}

/** All sites, folded in memory and kept current by the log: a request costs no query. */
export class SiteDirectory {
  private readonly byId = new Map<string, OpenSite>();
  private byHost = new Map<string, OpenSite>();
  private readonly throttle: AuthThrottle;
  private siteFollower: Follower | undefined;

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
        log.append({ noun: AUTH, stream, expected: 'any', site, actor: 'system', events: [event] }).catch(() => {});
      },
    });
  }

  async start(): Promise<void> {
    this.siteFollower = await this.log.follow({ name: 'sites', after: 0, nouns: [SITE] }, (events) =>
      this.applyAll(events),
    );
    const windowBegan = new Date(Date.now() - this.options.authFailureWindowMs);
    const after = await this.log.positionBefore(windowBegan);
    await this.log.follow({ name: 'auth', after, nouns: [AUTH] }, (events) => {
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
      if (this.siteFollower) await answerOf(this.siteFollower.look());
    } catch {
      throw new LogUnavailable('The log cannot be asked whether keys are still good');
    }
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

  private async applyAll(events: StoredEvent[]): Promise<void> {
    for (const event of events) {
      const before = this.byId.get(event.stream);
      const site = evolve(before?.site, event);
      if (!site) continue;
      const dedupSecret = before?.dedupSecret ?? (await this.secrets.dedupSecret(site.host));
      const keysByHash = new Map(site.keys.map((key) => [key.hash, key]));
      this.byId.set(event.stream, { site, dedupSecret, keysByHash });
    }
    this.byHost = new Map();
    for (const open of this.byId.values()) {
      // Hosts before aliases, earlier sites before later ones: nobody takes a name over by adding it as an alias.
      for (const name of [open.site.host, ...open.site.aliases])
        if (!this.byHost.has(name)) this.byHost.set(name, open);
    }
    for (const open of this.byId.values()) this.byHost.set(open.site.host, open);
  }
}
