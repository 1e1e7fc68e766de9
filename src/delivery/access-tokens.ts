import { at, shorten, textAt } from '../platforms/common-verdict.js';
import type { Connection, Platform, PlatformResponse, TokenRequest } from '../platforms/platform.js';
import { NoResponse, type PlatformClient } from './platform-client.js';

/** A token is replaced this long before it expires, so that a request that starts with it can finish with it. */
const RENEW_BEFORE_MS = 60_000;
const DEFAULT_LIFETIME_MS = 3_600_000;
const STORE_RETRY_MS = 1_000;

/** The token endpoint refused the credentials. */
export class CredentialsRefused extends Error {
  override readonly name = 'CredentialsRefused';
}

export interface RefreshTokenStore {
  /** Stores a rotated refresh token. The previous one may no longer be valid, so the new one must not be lost. */
  replaceRefreshToken(site: string, platform: Platform, refreshToken: string): Promise<void>;
  /** The connection as stored now: another instance may have rotated the refresh token. */
  reload(site: string, platform: Platform): Promise<Connection | undefined>;
}

interface CachedToken {
  readonly token: string;
  readonly until: number;
  readonly refreshToken: string | undefined;
}

/** Caches one OAuth access token per connection. Concurrent callers share one token request. */
export class AccessTokens {
  private readonly cached = new Map<string, CachedToken>();
  private readonly fetching = new Map<string, Promise<CachedToken>>();

  constructor(
    private readonly client: Pick<PlatformClient, 'request'>,
    private readonly store: RefreshTokenStore,
  ) {}

  /** Undefined if the connection needs no token. With `stale`, a token other than that one. */
  async get(site: string, platform: Platform, connection: Connection, stale?: string): Promise<string | undefined> {
    const request = platform.token?.(connection);
    if (!request) return undefined;
    const key = `${site} ${platform.name}`;
    const cached = this.cached.get(key);
    const isValid = cached && cached.until > performance.now() && cached.token !== stale;
    // A different refresh token means that an operator has changed the credentials.
    if (isValid && cached.refreshToken === connection.secrets['refresh_token']) return cached.token;
    let fetching = this.fetching.get(key);
    if (!fetching) {
      fetching = this.fetch(site, platform, connection, request).finally(() => this.fetching.delete(key));
      this.fetching.set(key, fetching);
    }
    const fresh = await fetching;
    this.cached.set(key, fresh);
    return fresh.token;
  }

  private async fetch(
    site: string,
    platform: Platform,
    connection: Connection,
    request: TokenRequest,
  ): Promise<CachedToken> {
    try {
      return await this.requestToken(site, platform, connection, request);
    } catch (error) {
      if (!(error instanceof CredentialsRefused)) throw error;
      const stored = await this.store.reload(site, platform);
      const unchanged = stored?.secrets['refresh_token'] === connection.secrets['refresh_token'];
      const second = stored && !unchanged ? platform.token?.(stored) : undefined;
      if (!stored || !second) throw error;
      return this.requestToken(site, platform, stored, second);
    }
  }

  private async requestToken(
    site: string,
    platform: Platform,
    connection: Connection,
    request: TokenRequest,
  ): Promise<CachedToken> {
    const post = {
      method: 'POST',
      url: request.url,
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
      body: new URLSearchParams(request.form).toString(),
    } as const;
    const response = await this.client.request(platform, post, connection);
    const token = textAt(response.json, 'access_token');
    if (response.status !== 200 || !token) throw tokenError(response);
    const refreshToken = textAt(response.json, 'refresh_token');
    const before = connection.secrets['refresh_token'];
    if (refreshToken && refreshToken !== before) await this.storeRefreshToken(site, platform, refreshToken);
    const seconds = Number(at(response.json, 'expires_in'));
    const lifetimeMs = seconds > 0 ? seconds * 1_000 : DEFAULT_LIFETIME_MS;
    return {
      token,
      until: performance.now() + Math.max(lifetimeMs - RENEW_BEFORE_MS, lifetimeMs / 2),
      refreshToken: refreshToken ?? before,
    };
  }

  /** Retries without limit, while callers wait: if the new refresh token were lost, no token could be fetched again. */
  private async storeRefreshToken(site: string, platform: Platform, refreshToken: string): Promise<void> {
    for (;;) {
      try {
        return await this.store.replaceRefreshToken(site, platform, refreshToken);
      } catch {
        await new Promise((next) => setTimeout(next, STORE_RETRY_MS));
      }
    }
  }
}

/** An operator must fix an invalid or revoked grant; every other failure may be temporary. */
function tokenError({ status, json }: PlatformResponse): Error {
  const error = textAt(json, 'error');
  if ((status === 400 || status === 401 || status === 403) && error !== undefined) {
    return new CredentialsRefused(shorten(`the token endpoint returned ${error}`));
  }
  return new NoResponse({ kind: 'retry', reason: 'network_error', unknown: true });
}
