import { withLogTimeout } from '../../kernel/log-timeout.js';
import type { ConnectionName } from '../../platforms/connection-name.js';
import type { Connection } from '../../platforms/platform.js';
import { Lease, type LeaseDatabase } from '../../postgres/lease.js';
import type { SiteSecrets } from '../../sites/site-secrets.js';

/** Longer than a token request and the storing of its result. */
const LOCK_MS = 30_000;
const REFRESH_TOKEN = 'refresh_token';
const STATE = 'refresh_state';

/** What is stored about the refresh token of a connection, besides the token itself. */
export interface TokenState {
  /** Which refresh token this is about. An operator may have replaced it since. */
  readonly refreshToken?: string | undefined;
  /** The refresh token before it. */
  readonly previous?: string | undefined;
  /** The token was used then, and the result is not stored: the platform may have replaced it by one that was never stored. */
  readonly unresolvedSince?: number | undefined;
  /** The newest access token, for every instance. */
  readonly accessToken?: string | undefined;
  /** Database time at which the access token is to be renewed. */
  readonly until?: number | undefined;
}

export interface StoredTokens {
  /** With the secrets as stored now. */
  readonly connection: Connection;
  readonly refreshToken: string;
  readonly state: TokenState;
}

/** The right to use the refresh token of a connection. */
export interface TokenLock {
  /** False some time before another process can have it. */
  readonly held: boolean;
  release(): Promise<void>;
}

export interface TokenStore {
  /** The database's time. */
  nowMs(): number;
  /** Undefined while another process has it. */
  lock(site: string, name: ConnectionName): Promise<TokenLock | undefined>;
  /** Undefined if it is not connected or has no refresh token. */
  read(site: string, name: ConnectionName): Promise<StoredTokens | undefined>;
  /**
   * Stores the state, and its refresh token if that is a new one. False, and nothing is stored, if the stored refresh token
   * is no longer the expected one: an operator or another process has replaced it, or the platform was disconnected.
   */
  replace(site: string, name: ConnectionName, expected: string, state: TokenState): Promise<boolean>;
}

/** Encrypted with the other secrets of the connection. */
export class DatabaseTokenStore implements TokenStore {
  constructor(
    private readonly database: LeaseDatabase,
    private readonly secrets: SiteSecrets,
    /** Undefined if it is not connected. */
    private readonly connectionOf: (site: string, name: ConnectionName) => Promise<Connection | undefined>,
  ) {}

  nowMs(): number {
    return this.database.clock.nowMs();
  }

  async lock(site: string, name: ConnectionName): Promise<TokenLock | undefined> {
    const taking = Lease.take(this.database, prefixOf(site) + name, 0, LOCK_MS);
    try {
      return toLock(await withLogTimeout(taking));
    } catch (error) {
      // A lease that was taken too late would be renewed for as long as this process runs.
      void taking.then((late) => late?.release()).catch(() => {});
      throw error;
    }
  }

  async read(site: string, name: ConnectionName): Promise<StoredTokens | undefined> {
    const stored = await withLogTimeout(this.secrets.connectionSecrets(site, name));
    const connection = await this.connectionOf(site, name);
    const { [REFRESH_TOKEN]: refreshToken, [STATE]: stateText, ...secrets } = stored;
    if (!connection || refreshToken === undefined) return undefined;
    const state: TokenState = stateText === undefined ? {} : JSON.parse(stateText);
    return {
      connection: { ...connection, secrets: { ...connection.secrets, ...secrets, [REFRESH_TOKEN]: refreshToken } },
      refreshToken,
      state: state.refreshToken === refreshToken ? state : {},
    };
  }

  replace(site: string, name: ConnectionName, expected: string, state: TokenState): Promise<boolean> {
    const { refreshToken = expected } = state;
    const next = { [REFRESH_TOKEN]: refreshToken, [STATE]: JSON.stringify({ ...state, refreshToken }) };
    return withLogTimeout(this.secrets.replaceSecrets(site, name, { field: REFRESH_TOKEN, value: expected }, next));
  }
}

function prefixOf(site: string): string {
  return `token ${site} `;
}

/** Whether a process uses a refresh token of the site at the moment, or may have died while it did. */
export async function isRefreshing({ pool, clock }: LeaseDatabase, site: string): Promise<boolean> {
  const { rowCount } = await pool.query(
    'SELECT FROM cc.leases WHERE starts_with(name, $1) AND until > to_timestamp($2) LIMIT 1',
    [prefixOf(site), clock.nowMs() / 1_000],
  );
  return rowCount === 1;
}

function toLock(lease: Lease | undefined): TokenLock | undefined {
  if (!lease) return undefined;
  return {
    get held() {
      return lease.held;
    },
    release: () => lease.release(),
  };
}
