import { LogUnavailable } from '../../kernel/errors.js';
import { at, joined, shorten, textAt } from '../../platforms/common-verdict.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Connection, Platform, PlatformResponse } from '../../platforms/platform.js';
import { NoResponse, type PlatformClient } from './platform-client.js';
import type { StoredTokens, TokenLock, TokenState, TokenStore } from './token-store.js';

/** A token is replaced this long before it expires, so that a request that starts with it can finish with it. */
const RENEW_BEFORE_MS = 60_000;
const DEFAULT_LIFETIME_MS = 3_600_000;
const STORE_RETRY_MS = 1_000;
/** Callers wait so long for a new refresh token to be stored. Storing continues without them. */
const STORE_WAIT_MS = 2_000;
const LOCK_POLL_MS = 250;
/** Shorter than a delivery waits for a token. */
const LOCK_WAIT_MS = 8_000;
/** A process that was frozen during a refresh may still store the result. After this time its result counts as lost. */
export const RESULT_LOST_AFTER_MS = 5 * 60_000;

/** The token endpoint refused the credentials. */
export class CredentialsRefused extends Error {
  override readonly name = 'CredentialsRefused';
}

interface CachedToken {
  readonly token: string;
  /** By this process's monotonic clock. */
  readonly until: number;
  /** The refresh tokens that it may be used for: the one that the caller had, and the one that is stored now. */
  readonly refreshTokens: readonly (string | undefined)[];
}

export interface TokenOwner {
  readonly site: string;
  readonly name: ConnectionName;
  readonly platform: Platform;
}

interface Target extends TokenOwner {
  /** An access token that the platform has refused. */
  readonly stale: string | undefined;
}

interface TokenAnswer {
  readonly accessToken: string;
  readonly refreshToken: string | undefined;
  readonly lifetimeMs: number;
}

/**
 * Access tokens of connections that have a refresh token or client credentials. A platform may void a refresh token when it is used, so one process
 * at a time uses it: it holds the connection's lock from before the use until the new refresh token is stored. The access
 * token is stored too, for the other instances. Concurrent callers in a process share one request.
 */
export class AccessTokens {
  private readonly cached = new Map<string, CachedToken>();
  private readonly renewing = new Map<string, Promise<CachedToken>>();

  constructor(
    private readonly client: Pick<PlatformClient, 'request'>,
    private readonly store: TokenStore,
    /** Whether an access token that another process obtained is used. */
    private readonly options: { readonly shared: boolean } = { shared: true },
  ) {}

  /** Undefined if the connection needs no token. With `stale`, a token other than that one. */
  async get(owner: TokenOwner, connection: Connection, stale?: string): Promise<string | undefined> {
    if (!owner.platform.token?.(connection)) return undefined;
    const key = `${owner.site} ${owner.name}`;
    const given = connection.secrets['refresh_token'];
    const cached = this.cached.get(key);
    const isValid = cached && cached.until > performance.now() && cached.token !== stale;
    // A different refresh token means that an operator has changed the credentials.
    if (isValid && cached.refreshTokens.includes(given)) return cached.token;
    let renewing = this.renewing.get(key);
    if (!renewing) {
      const target = { ...owner, stale };
      const requested = given === undefined ? this.requestOwn(target, connection) : this.renew(target);
      renewing = requested.finally(() => this.renewing.delete(key));
      this.renewing.set(key, renewing);
    }
    const { token, until, refreshTokens } = await renewing;
    this.cached.set(key, { token, until, refreshTokens: [given, ...refreshTokens] });
    return token;
  }

  /** With client credentials, which no use voids: every process has a token of its own. */
  private async requestOwn(target: Target, connection: Connection): Promise<CachedToken> {
    const { accessToken, lifetimeMs } = await this.requestToken(target, { connection }, { held: true });
    return { token: accessToken, until: performance.now() + renewAfterMs(lifetimeMs), refreshTokens: [] };
  }

  /** Waits for the lock, or for the token that its holder obtains. */
  private async renew(target: Target): Promise<CachedToken> {
    const deadline = performance.now() + LOCK_WAIT_MS;
    try {
      for (;;) {
        const shared = this.sharedToken(await this.read(target), target);
        if (shared) return shared;
        const lock = await this.store.lock(target.site, target.name);
        if (lock) return await this.renewLocked(target, lock);
        if (performance.now() >= deadline)
          throw temporary('another process is requesting an access token; retry later');
        await new Promise((next) => setTimeout(next, LOCK_POLL_MS));
      }
    } catch (error) {
      throw error instanceof LogUnavailable ? temporary('the database does not answer') : error;
    }
  }

  private async renewLocked(target: Target, lock: TokenLock): Promise<CachedToken> {
    let storing: Promise<void> = Promise.resolve();
    try {
      // Read again: the previous holder of the lock may have stored a token.
      const stored = await this.read(target);
      const shared = this.sharedToken(stored, target);
      if (shared) return shared;
      const { answer, used } = await this.useRefreshToken(target, stored, lock);
      const until = this.store.nowMs() + renewAfterMs(answer.lifetimeMs);
      const { refreshToken = used.refreshToken } = answer;
      const previous = refreshToken === used.refreshToken ? used.state.previous : used.refreshToken;
      const state = { refreshToken, previous, accessToken: answer.accessToken, until };
      storing = this.storeResult(target, used.stored, state);
      await Promise.race([storing, new Promise((next) => setTimeout(next, STORE_WAIT_MS).unref())]);
      return this.toCached(answer.accessToken, until, refreshToken);
    } finally {
      // The lock's lease expires by itself if it cannot be released.
      void storing.then(() => lock.release()).catch(() => {});
    }
  }

  /** Requests an access token with the stored refresh token; if that is refused, with the one before it. */
  private async useRefreshToken(target: Target, first: StoredTokens, lock: TokenLock): Promise<UsedToken> {
    const { site, name } = target;
    for (let stored = first; ; ) {
      const { refreshToken, state } = stored;
      const since = state.unresolvedSince ?? this.store.nowMs();
      // Recorded before the use: the process may end before it stores the result.
      if (await this.store.replace(site, name, refreshToken, { ...state, unresolvedSince: since })) {
        try {
          return {
            answer: await this.requestToken(target, stored, lock),
            used: { refreshToken, stored: refreshToken, state },
          };
        } catch (error) {
          if (error instanceof NoResponse && !isUnknown(error) && lock.held)
            await this.store.replace(site, name, refreshToken, state);
          if (!(error instanceof CredentialsRefused)) throw error;
          const answer = await this.usePrevious(target, stored, lock);
          if (answer) return answer;
          const current = await this.read(target);
          if (current.refreshToken === refreshToken)
            throw lock.held ? await this.refusal(target, stored, error) : temporary(error.message);
        }
      }
      // An operator has changed the refresh token, or another process has stored a new one.
      stored = await this.read(target);
    }
  }

  /** The endpoint may have kept the token valid that the stored one has replaced. */
  private async usePrevious(target: Target, stored: StoredTokens, lock: TokenLock): Promise<UsedToken | undefined> {
    const { previous } = stored.state;
    if (previous === undefined) return undefined;
    const secrets = { ...stored.connection.secrets, refresh_token: previous };
    const earlier = { ...stored, connection: { ...stored.connection, secrets } };
    try {
      const answer = await this.requestToken(target, earlier, lock);
      return { answer, used: { refreshToken: previous, stored: stored.refreshToken, state: stored.state } };
    } catch (error) {
      if (error instanceof CredentialsRefused) return undefined;
      throw error;
    }
  }

  /** The endpoint refuses the stored refresh token, and it has not been replaced. */
  private async refusal({ site, name }: Target, stored: StoredTokens, error: CredentialsRefused): Promise<Error> {
    const { refreshToken, state } = stored;
    const { unresolvedSince, ...resolved } = state;
    if (unresolvedSince === undefined) {
      await this.store.replace(site, name, refreshToken, resolved);
      return error;
    }
    if (this.store.nowMs() - unresolvedSince < RESULT_LOST_AFTER_MS) return temporary(error.message);
    await this.store.replace(site, name, refreshToken, resolved);
    return new CredentialsRefused(
      `${error.message}; an earlier refresh was interrupted, and its refresh token is lost`,
    );
  }

  private async requestToken(
    { platform }: Target,
    { connection }: Pick<StoredTokens, 'connection'>,
    lock: Pick<TokenLock, 'held'>,
  ): Promise<TokenAnswer> {
    const request = platform.token?.(connection);
    if (!request) throw new CredentialsRefused('the credentials for an access token are incomplete');
    const post = {
      method: 'POST',
      url: request.url,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        ...request.headers,
      },
      body: new URLSearchParams(request.form).toString(),
    } as const;
    // Without the lock another process may be using the refresh token.
    const response = await this.client.request(platform, post, connection, () => lock.held);
    const accessToken = textAt(response.json, 'access_token');
    if (response.status !== 200 || !accessToken) throw tokenError(response);
    const seconds = Number(at(response.json, 'expires_in'));
    const lifetimeMs = seconds > 0 ? seconds * 1_000 : DEFAULT_LIFETIME_MS;
    return { accessToken, refreshToken: textAt(response.json, 'refresh_token'), lifetimeMs };
  }

  /**
   * Retries without limit: if the new refresh token were lost, no token could be fetched again. Nothing is stored if the
   * refresh token was replaced meanwhile, by an operator or by a process that took over the lock.
   */
  private async storeResult({ site, name }: Target, replaced: string, state: TokenState): Promise<void> {
    for (;;) {
      try {
        await this.store.replace(site, name, replaced, state);
        return;
      } catch {
        await new Promise((next) => setTimeout(next, STORE_RETRY_MS));
      }
    }
  }

  private async read({ site, name }: Target): Promise<StoredTokens> {
    const stored = await this.store.read(site, name);
    // Disconnected meanwhile: the next attempt finds that.
    if (!stored) throw temporary('the connection has no refresh token');
    return stored;
  }

  /** The access token that another process has obtained. */
  private sharedToken({ state, refreshToken }: StoredTokens, { stale }: Target): CachedToken | undefined {
    const { accessToken, until = 0 } = state;
    const isUsable = this.options.shared && accessToken !== stale && until > this.store.nowMs();
    if (accessToken === undefined || !isUsable) return undefined;
    return this.toCached(accessToken, until, refreshToken);
  }

  private toCached(token: string, until: number, refreshToken: string): CachedToken {
    return { token, until: performance.now() + until - this.store.nowMs(), refreshTokens: [refreshToken] };
  }
}

interface UsedToken {
  readonly answer: TokenAnswer;
  readonly used: {
    readonly refreshToken: string;
    /** The stored refresh token, if another one was used. */
    readonly stored: string;
    readonly state: TokenState;
  };
}

function renewAfterMs(lifetimeMs: number): number {
  return Math.max(lifetimeMs - RENEW_BEFORE_MS, lifetimeMs / 2);
}

/** No token now, and no reason to park the connection. */
function temporary(message: string): NoResponse {
  return new NoResponse({ kind: 'retry', reason: 'network_error', unknown: false }, message);
}

function isUnknown({ outcome }: NoResponse): boolean {
  return outcome.kind === 'retry' && outcome.unknown;
}

/** An operator must fix an invalid or revoked grant; every other failure may be temporary. */
function tokenError({ status, json }: PlatformResponse): Error {
  const error = textAt(json, 'error');
  const description = textAt(json, 'error_description') ?? textAt(json, 'message');
  // Pinterest and Reddit have a number in place of the name.
  const isNamed = error !== undefined || typeof (at(json, 'error') ?? at(json, 'code')) === 'number';
  const isRefused = (status === 400 || status === 401 || status === 403) && isNamed;
  // Reddit answers some errors with 200.
  if (isRefused || (status === 200 && error === 'invalid_grant')) {
    return new CredentialsRefused(
      shorten(`the token endpoint returned ${joined(error, description) ?? `HTTP ${status}`}`),
    );
  }
  const words = joined(`the token endpoint answered HTTP ${status}`, error, description) ?? '';
  return new NoResponse({ kind: 'retry', reason: 'network_error', unknown: true }, shorten(words));
}
