import { setImmediate as turn } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { LogUnavailable } from '../../kernel/errors.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse } from '../../platforms/platform.js';
import { AccessTokens, CredentialsRefused, RESULT_LOST_AFTER_MS, type TokenOwner } from './access-tokens.js';
import { NoResponse } from './platform-client.js';
import type { TokenLock, TokenState, TokenStore } from './token-store.js';

const platform = {
  name: 'google_ads',
  token: ({ secrets }: Connection) =>
    secrets['refresh_token'] === undefined
      ? undefined
      : {
          url: 'https://token.example',
          form: { grant_type: 'refresh_token', refresh_token: secrets['refresh_token'] },
        },
} as unknown as Platform;

const OWNER: TokenOwner = { site: 'shop.example', name: 'google_ads', platform };
const connectionWith = (refresh_token: string): Connection => ({ settings: {}, secrets: { refresh_token } });
const response = (status: number, json: object): PlatformResponse => ({ status, headers: {}, text: '', json });

/** The stored refresh token, its state and its lock, as every instance sees them. */
class Store implements TokenStore {
  refreshToken = 'r1';
  state: TokenState = {};
  failures = 0;
  elapsedMs = 0;
  lockedBy: object | undefined;

  nowMs(): number {
    return 1_800_000_000_000 + this.elapsedMs;
  }

  async lock(): Promise<TokenLock | undefined> {
    if (this.lockedBy) return undefined;
    const holder = {};
    this.lockedBy = holder;
    const isHolder = () => this.lockedBy === holder;
    return {
      get held() {
        return isHolder();
      },
      release: async () => {
        if (isHolder()) this.lockedBy = undefined;
      },
    };
  }

  async read() {
    const { refreshToken, state } = this;
    return {
      connection: connectionWith(refreshToken),
      refreshToken,
      state: state.refreshToken === refreshToken ? state : {},
    };
  }

  async replace(_site: string, _name: string, expected: string, state: TokenState): Promise<boolean> {
    if (this.failures-- > 0) throw new LogUnavailable('The log did not answer in time');
    if (this.refreshToken !== expected) return false;
    this.refreshToken = state.refreshToken ?? expected;
    this.state = { ...state, refreshToken: this.refreshToken };
    return true;
  }
}

/** A token endpoint with a set of valid refresh tokens. */
class Endpoint {
  calls = 0;
  valid = new Set(['r1']);
  rotates = false;
  expiresIn: number | undefined = 3_600;
  failure: PlatformResponse | Error | undefined;
  /** Answers are held back until this resolves. */
  delay: Promise<unknown> = Promise.resolve();
  readonly store = new Store();
  readonly tokens = this.instance();

  /** Another process with the same secrets. */
  instance(): AccessTokens {
    const request = async (_: Platform, post: PlatformRequest, __: Connection, mayGo?: () => boolean) => {
      if (mayGo?.() === false) throw new NoResponse({ kind: 'retry', reason: 'network_error', unknown: false });
      return this.respond(post);
    };
    return new AccessTokens({ request }, this.store);
  }

  get(stale?: string, tokens = this.tokens): Promise<string | undefined> {
    return tokens.get(OWNER, connectionWith(this.store.refreshToken), stale);
  }

  private async respond({ body }: PlatformRequest): Promise<PlatformResponse> {
    this.calls += 1;
    const answer = this.answerTo(new URLSearchParams(body).get('refresh_token') as string, this.calls);
    const { failure, delay } = this;
    await delay;
    await turn();
    if (failure instanceof Error) throw failure;
    return failure ?? answer;
  }

  private answerTo(refreshToken: string, number: number): PlatformResponse {
    if (this.failure) return response(500, {});
    if (!this.valid.has(refreshToken)) return response(400, { error: 'invalid_grant' });
    const granted = { access_token: `t${number}`, expires_in: this.expiresIn };
    if (!this.rotates) return response(200, granted);
    this.valid = new Set([`r${number + 1}`]);
    return response(200, { ...granted, refresh_token: `r${number + 1}` });
  }
}

describe('AccessTokens', () => {
  let endpoint: Endpoint;

  beforeEach(() => {
    endpoint = new Endpoint();
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const advanceMs = (ms: number) => {
    endpoint.store.elapsedMs += ms;
    const now = performance.now() + ms;
    jest.spyOn(performance, 'now').mockImplementation(() => now);
  };
  const useFakeTimers = () => jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
  const settle = async () => {
    for (let round = 0; round < 20; round += 1) await turn();
  };

  it('has a token for each connection of a platform', async () => {
    await endpoint.get();
    endpoint.store.state = {};
    const further = { ...OWNER, name: 'google_ads:second' } as const;
    expect(await endpoint.tokens.get(further, connectionWith('r1'))).toBe('t2');
    expect(await endpoint.get()).toBe('t1');
  });

  it('requests no token for a connection without token credentials', async () => {
    const connection = { settings: {}, secrets: {} };
    expect(await endpoint.tokens.get(OWNER, connection)).toBeUndefined();
    expect(endpoint.calls).toBe(0);
  });

  it('requests one token for fifty concurrent callers and caches it', async () => {
    const tokens = await Promise.all(Array.from({ length: 50 }, () => endpoint.get()));
    expect(new Set(tokens)).toEqual(new Set(['t1']));
    expect(await endpoint.get()).toBe('t1');
    expect(endpoint.calls).toBe(1);
  });

  it.each<[string, number | undefined, number, number]>([
    ['one minute before it expires', 3_600, 3_539_000, 2_000],
    ['halfway through a short lifetime', 60, 29_000, 2_000],
    ['after 59 minutes if the response has no lifetime', undefined, 3_539_000, 2_000],
  ])('renews the token %s', async (_, seconds, validMs, thenMs) => {
    endpoint.expiresIn = seconds;
    await endpoint.get();
    advanceMs(validMs);
    expect(await endpoint.get()).toBe('t1');
    advanceMs(thenMs);
    expect(await endpoint.get()).toBe('t2');
  });

  it('replaces a refused token once for all callers that had it', async () => {
    await endpoint.get();
    const tokens = await Promise.all(Array.from({ length: 50 }, () => endpoint.get('t1')));
    expect(new Set(tokens)).toEqual(new Set(['t2']));
    expect(await endpoint.get('t1')).toBe('t2');
    expect(endpoint.calls).toBe(2);
  });

  it('requests a new token after an operator has changed the refresh token', async () => {
    await endpoint.get();
    endpoint.valid.add('r-new');
    endpoint.store.refreshToken = 'r-new';
    expect(await endpoint.get()).toBe('t2');
    expect(await endpoint.get()).toBe('t2');
  });

  it('stores a rotated refresh token before it returns the access token', async () => {
    endpoint.rotates = true;
    expect(await endpoint.get()).toBe('t1');
    expect(endpoint.store.refreshToken).toBe('r2');
    expect(await endpoint.get()).toBe('t1');
    expect(await endpoint.get('t1')).toBe('t2');
    expect(endpoint.store.refreshToken).toBe('r3');
  });

  it('refreshes once for several instances, although the endpoint voids a refresh token when it is used', async () => {
    useFakeTimers();
    endpoint.rotates = true;
    const instances = Array.from({ length: 5 }, () => endpoint.instance());
    const tokens = Promise.all(instances.map((instance) => endpoint.get(undefined, instance)));
    await settle();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(new Set(await tokens)).toEqual(new Set(['t1']));
    expect([endpoint.calls, endpoint.store.refreshToken]).toEqual([1, 'r2']);
  });

  it('does not use the refresh token of an instance that holds the lock, and reports a temporary failure', async () => {
    useFakeTimers();
    endpoint.store.lockedBy = {};
    const token = endpoint.get().catch((error: unknown) => error);
    const start = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => start + jest.now());
    await settle();
    await jest.advanceTimersByTimeAsync(60_000);
    expect(await token).toBeInstanceOf(NoResponse);
    expect(endpoint.calls).toBe(0);
  });

  it('does not lose a rotated refresh token while the database is unavailable, nor keep callers waiting', async () => {
    useFakeTimers();
    endpoint.rotates = true;
    let use: () => void = () => {};
    endpoint.delay = new Promise<void>((resolve) => {
      use = resolve;
    });
    const token = endpoint.get();
    await settle();
    endpoint.store.failures = 60;
    use();
    await settle();
    await jest.advanceTimersByTimeAsync(3_000);
    expect(await token).toBe('t1');
    expect(await endpoint.get()).toBe('t1');
    expect([endpoint.store.refreshToken, endpoint.store.lockedBy]).toEqual(['r1', expect.anything()]);
    for (let second = 0; second < 60; second += 1) await jest.advanceTimersByTimeAsync(1_000);
    await settle();
    expect([endpoint.store.refreshToken, endpoint.store.lockedBy, endpoint.calls]).toEqual(['r2', undefined, 1]);
  });

  it('uses no refresh token while it cannot record that it does', async () => {
    endpoint.store.failures = 1;
    await expect(endpoint.get()).rejects.toBeInstanceOf(NoResponse);
    expect(endpoint.calls).toBe(0);
    expect(await endpoint.get()).toBe('t1');
  });

  it('uses the stored refresh token after an instance ended between its use and the storing of the new one', async () => {
    endpoint.store.state = { refreshToken: 'r1', unresolvedSince: endpoint.store.nowMs() };
    expect(await endpoint.get()).toBe('t1');
    expect(endpoint.store.state.unresolvedSince).toBeUndefined();
  });

  it('uses the previous refresh token if the stored one is refused', async () => {
    endpoint.store.state = { refreshToken: 'r1', previous: 'r0' };
    endpoint.valid = new Set(['r0']);
    endpoint.rotates = true;
    expect(await endpoint.get()).toBe('t2');
    expect(endpoint.store.refreshToken).toBe('r3');
  });

  it('takes a lost refresh token for refused only when no process can have the new one any more', async () => {
    endpoint.store.state = { refreshToken: 'r1', unresolvedSince: endpoint.store.nowMs() };
    endpoint.valid = new Set(['r2']);
    await expect(endpoint.get()).rejects.toBeInstanceOf(NoResponse);
    endpoint.store.elapsedMs = RESULT_LOST_AFTER_MS;
    await expect(endpoint.get()).rejects.toThrow(
      'the token endpoint returned invalid_grant; an earlier refresh was interrupted, and its refresh token is lost',
    );
    await expect(endpoint.get()).rejects.toThrow(new CredentialsRefused('the token endpoint returned invalid_grant'));
  });

  it('keeps the result of an instance that was frozen for longer than its lock during the refresh', async () => {
    endpoint.rotates = true;
    let thaw: () => void = () => {};
    endpoint.delay = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    const frozen = endpoint.get();
    await settle();
    endpoint.store.lockedBy = undefined;
    endpoint.delay = Promise.resolve();
    const other = endpoint.instance();
    await expect(endpoint.get(undefined, other)).rejects.toBeInstanceOf(NoResponse);
    thaw();
    expect(await frozen).toBe('t1');
    expect(endpoint.store.refreshToken).toBe('r2');
    expect(await endpoint.get(undefined, other)).toBe('t1');
  });

  it('does not use the refresh token after it was frozen for longer than its lock', async () => {
    const { store } = endpoint;
    const replace = store.replace.bind(store);
    jest.spyOn(store, 'replace').mockImplementation(async (...args) => {
      const stored = await replace(...args);
      // Another instance has the lock, and records its own use.
      store.lockedBy = {};
      return stored;
    });
    await expect(endpoint.get()).rejects.toBeInstanceOf(NoResponse);
    expect([endpoint.calls, store.state.unresolvedSince]).toEqual([0, store.nowMs()]);
  });

  it('does not overwrite the refresh token that an operator sets during a refresh', async () => {
    endpoint.rotates = true;
    let answer: () => void = () => {};
    endpoint.delay = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const token = endpoint.get();
    await settle();
    endpoint.store.refreshToken = 'r-new';
    answer();
    expect(await token).toBe('t1');
    expect(endpoint.store.refreshToken).toBe('r-new');
    endpoint.valid.add('r-new');
    expect(await endpoint.get()).toBe('t2');
  });

  it('uses the refresh token that an operator sets while the earlier one is refused', async () => {
    endpoint.valid = new Set(['r-new']);
    let answer: () => void = () => {};
    endpoint.delay = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const token = endpoint.get();
    await settle();
    endpoint.store.refreshToken = 'r-new';
    answer();
    expect(await token).toBe('t2');
  });

  it('reports refused credentials with the error code of the endpoint', async () => {
    endpoint.valid.clear();
    await expect(endpoint.get()).rejects.toThrow(new CredentialsRefused('the token endpoint returned invalid_grant'));
    endpoint.valid.add('r1');
    expect(await endpoint.get()).toBe('t2');
  });

  it.each<[string, PlatformResponse | Error]>([
    ['is unavailable', response(503, { error: 'temporarily_unavailable' })],
    ['responds without a token', response(200, { hello: 1 })],
    ['does not respond', new NoResponse({ kind: 'retry', reason: 'timeout', unknown: true })],
  ])('reports a temporary failure when the endpoint %s', async (_, failure) => {
    endpoint.failure = failure;
    await expect(endpoint.get()).rejects.toBeInstanceOf(NoResponse);
  });
});
