import { at, shorten, textAt } from '../platforms/common-verdict.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse, TokenRequest } from '../platforms/platform.js';
import { CredentialsRefused, NoAnswer } from './lane.js';

/** A token is fetched anew this long before it runs out: a call that begins with it must end with it. */
const EARLY_MS = 60_000;
const LIFETIME_MS = 3_600_000;
const KEEP_AGAIN_MS = 1_000;

export interface TokenWorld {
  send(platform: Platform, request: PlatformRequest, connection: Connection): Promise<PlatformResponse>;
  /** The platform gave a new refresh token, and the old one may be void: it must not be lost. */
  keepRefreshToken(site: string, platform: Platform, refreshToken: string): Promise<void>;
  /** As stored now: another instance may have been given a new refresh token meanwhile. */
  reload(site: string, platform: Platform): Promise<Connection | undefined>;
}

interface Held {
  readonly token: string;
  readonly until: number;
  readonly refreshToken: string | undefined;
}

/** OAuth access tokens, one per connection, fetched once however many calls want it at the same time. */
export class AccessTokens {
  private readonly held = new Map<string, Held>();
  private readonly fetching = new Map<string, Promise<Held>>();

  constructor(private readonly world: TokenWorld) {}

  /** Undefined where the connection needs none. With `stale`, one that is not that one. */
  async get(site: string, platform: Platform, connection: Connection, stale?: string): Promise<string | undefined> {
    const request = platform.token?.(connection);
    if (!request) return undefined;
    const key = `${site} ${platform.name}`;
    const held = this.held.get(key);
    const good = held && held.until > performance.now() && held.token !== stale;
    // Other credentials than those it was made with: an operator has changed them.
    if (good && held.refreshToken === connection.secrets['refresh_token']) return held.token;
    let fetching = this.fetching.get(key);
    if (!fetching) {
      fetching = this.fetch(site, platform, connection, request).finally(() => this.fetching.delete(key));
      this.fetching.set(key, fetching);
    }
    const fresh = await fetching;
    this.held.set(key, fresh);
    return fresh.token;
  }

  private async fetch(site: string, platform: Platform, connection: Connection, request: TokenRequest): Promise<Held> {
    try {
      return await this.ask(site, platform, connection, request);
    } catch (error) {
      if (!(error instanceof CredentialsRefused)) throw error;
      const stored = await this.world.reload(site, platform);
      const unchanged = stored?.secrets['refresh_token'] === connection.secrets['refresh_token'];
      const again = stored && !unchanged ? platform.token?.(stored) : undefined;
      if (!stored || !again) throw error;
      return this.ask(site, platform, stored, again);
    }
  }

  private async ask(site: string, platform: Platform, connection: Connection, request: TokenRequest): Promise<Held> {
    const post = {
      method: 'POST',
      url: request.url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams(request.form).toString(),
    } as const;
    const response = await this.world.send(platform, post, connection);
    const token = textAt(response.json, 'access_token');
    if (response.status !== 200 || !token) throw refusal(response);
    const refreshToken = textAt(response.json, 'refresh_token');
    const before = connection.secrets['refresh_token'];
    if (refreshToken && refreshToken !== before) await this.keep(site, platform, refreshToken);
    const seconds = Number(at(response.json, 'expires_in'));
    const lifetimeMs = seconds > 0 ? seconds * 1_000 : LIFETIME_MS;
    return {
      token,
      until: performance.now() + Math.max(lifetimeMs - EARLY_MS, lifetimeMs / 2),
      refreshToken: refreshToken ?? before,
    };
  }

  /** However long it takes: the calls that want the token wait, and without this one nobody gets another. */
  private async keep(site: string, platform: Platform, refreshToken: string): Promise<void> {
    for (;;) {
      try {
        return await this.world.keepRefreshToken(site, platform, refreshToken);
      } catch {
        await new Promise((next) => setTimeout(next, KEEP_AGAIN_MS));
      }
    }
  }
}

/** A wrong or revoked grant is for a person to mend; whatever else may pass. */
function refusal({ status, json }: PlatformResponse): Error {
  const error = textAt(json, 'error');
  if ((status === 400 || status === 401 || status === 403) && error !== undefined) {
    return new CredentialsRefused(shorten(`the token endpoint said ${error}`));
  }
  return new NoAnswer({ kind: 'retry', reason: 'network_error' });
}
