import { jest } from '@jest/globals';
import type { Connection, Platform, PlatformRequest, PlatformResponse } from '../platforms/platform.js';
import { AccessTokens, CredentialsRefused } from './access-tokens.js';
import { NoResponse } from './platform-client.js';

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

const connectionWith = (refresh_token: string): Connection => ({ settings: {}, secrets: { refresh_token } });
const response = (status: number, json: object): PlatformResponse => ({ status, headers: {}, text: '', json });

/** A token endpoint with a set of valid refresh tokens, and the stored refresh token. */
class Endpoint {
  calls = 0;
  valid = new Set(['r1']);
  rotates = false;
  expiresIn: number | undefined = 3_600;
  failure: PlatformResponse | Error | undefined;
  stored = 'r1';
  storeFailures = 0;
  readonly tokens: AccessTokens;

  constructor() {
    this.tokens = this.instance();
  }

  /** Another process with the same secrets. */
  instance(): AccessTokens {
    const client = { request: async (_: Platform, request: PlatformRequest) => this.respond(request) };
    return new AccessTokens(client, {
      replaceRefreshToken: async (_site, _platform, refreshToken) => {
        if (this.storeFailures-- > 0) throw new Error('the database is unavailable');
        this.stored = refreshToken;
      },
      reload: async () => connectionWith(this.stored),
    });
  }

  get(stale?: string, tokens = this.tokens): Promise<string | undefined> {
    return tokens.get('shop.example', platform, connectionWith(this.stored), stale);
  }

  private async respond({ body }: PlatformRequest): Promise<PlatformResponse> {
    this.calls += 1;
    const number = this.calls;
    await new Promise((next) => setImmediate(next));
    if (this.failure instanceof Error) throw this.failure;
    if (this.failure) return this.failure;
    const refreshToken = new URLSearchParams(body).get('refresh_token') as string;
    if (!this.valid.has(refreshToken)) return response(400, { error: 'invalid_grant' });
    if (!this.rotates) return response(200, { access_token: `t${number}`, expires_in: this.expiresIn });
    this.valid = new Set([`r${number + 1}`]);
    return response(200, { access_token: `t${number}`, expires_in: this.expiresIn, refresh_token: `r${number + 1}` });
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

  const advanceMs = (ms: number) => jest.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);

  it('requests no token for a connection without token credentials', async () => {
    const connection = { settings: {}, secrets: {} };
    expect(await endpoint.tokens.get('shop.example', platform, connection)).toBeUndefined();
    expect(endpoint.calls).toBe(0);
  });

  it('requests one token for fifty concurrent callers and caches it', async () => {
    const tokens = await Promise.all(Array.from({ length: 50 }, () => endpoint.get()));
    expect(new Set(tokens)).toEqual(new Set(['t1']));
    expect(await endpoint.get()).toBe('t1');
    expect(endpoint.calls).toBe(1);
  });

  it.each<[string, number | undefined, number, number]>([
    ['one minute before it expires', 3_600, 3_539_000, 3_541_000],
    ['halfway through a short lifetime', 60, 29_000, 31_000],
    ['after 59 minutes if the response has no lifetime', undefined, 3_539_000, 3_541_000],
  ])('renews the token %s', async (_, seconds, validMs, expiredMs) => {
    endpoint.expiresIn = seconds;
    await endpoint.get();
    advanceMs(validMs);
    expect(await endpoint.get()).toBe('t1');
    jest.restoreAllMocks();
    advanceMs(expiredMs);
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
    endpoint.stored = 'r-new';
    expect(await endpoint.get()).toBe('t2');
    expect(await endpoint.get()).toBe('t2');
  });

  it('stores a rotated refresh token before it returns the access token', async () => {
    endpoint.rotates = true;
    expect(await endpoint.get()).toBe('t1');
    expect(endpoint.stored).toBe('r2');
    expect(await endpoint.get()).toBe('t1');
    expect(await endpoint.get('t1')).toBe('t2');
    expect(endpoint.stored).toBe('r3');
  });

  it('does not lose a rotated refresh token while the database is unavailable', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
    endpoint.rotates = true;
    endpoint.storeFailures = 3;
    const token = endpoint.get();
    for (let second = 0; second < 4; second += 1) {
      await new Promise((next) => setImmediate(() => setImmediate(next)));
      await jest.advanceTimersByTimeAsync(1_000);
    }
    expect(await token).toBe('t1');
    expect([endpoint.stored, endpoint.calls]).toEqual(['r2', 1]);
  });

  it('uses the refresh token that another instance rotated when its own is no longer valid', async () => {
    endpoint.rotates = true;
    const stale = connectionWith('r1');
    await endpoint.get(undefined, endpoint.instance());
    expect(endpoint.stored).toBe('r2');
    expect(await endpoint.tokens.get('shop.example', platform, stale)).toBe('t3');
    expect(endpoint.stored).toBe('r4');
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
