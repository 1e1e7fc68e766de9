import { jest } from '@jest/globals';
import type { Connection, Platform, PlatformRequest, PlatformResponse } from '../platforms/platform.js';
import { AccessTokens } from './access-tokens.js';
import { CredentialsRefused, NoAnswer } from './lane.js';

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

/** A token endpoint that knows which refresh tokens are good, and the table of secrets. */
class Endpoint {
  calls = 0;
  good = new Set(['r1']);
  rotates = false;
  expiresIn: number | undefined = 3_600;
  trouble: PlatformResponse | Error | undefined;
  stored = 'r1';
  keepFails = 0;
  readonly tokens: AccessTokens;

  constructor() {
    this.tokens = this.instance();
  }

  /** Another process with the same secrets. */
  instance(): AccessTokens {
    return new AccessTokens({
      send: async (_, request) => this.answer(request),
      keepRefreshToken: async (_site, _platform, refreshToken) => {
        if (this.keepFails-- > 0) throw new Error('the database is away');
        this.stored = refreshToken;
      },
      reload: async () => connectionWith(this.stored),
    });
  }

  get(stale?: string, tokens = this.tokens): Promise<string | undefined> {
    return tokens.get('shop.example', platform, connectionWith(this.stored), stale);
  }

  private async answer({ body }: PlatformRequest): Promise<PlatformResponse> {
    this.calls += 1;
    const number = this.calls;
    await new Promise((next) => setImmediate(next));
    if (this.trouble instanceof Error) throw this.trouble;
    if (this.trouble) return this.trouble;
    const given = new URLSearchParams(body).get('refresh_token') as string;
    if (!this.good.has(given)) return response(400, { error: 'invalid_grant' });
    if (!this.rotates) return response(200, { access_token: `t${number}`, expires_in: this.expiresIn });
    this.good = new Set([`r${number + 1}`]);
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

  const inMs = (ms: number) => jest.spyOn(performance, 'now').mockReturnValue(performance.now() + ms);

  it('asks for none where the connection has no credentials for one', async () => {
    const connection = { settings: {}, secrets: {} };
    expect(await endpoint.tokens.get('shop.example', platform, connection)).toBeUndefined();
    expect(endpoint.calls).toBe(0);
  });

  it('asks once for fifty that want it at the same time, and keeps it', async () => {
    const given = await Promise.all(Array.from({ length: 50 }, () => endpoint.get()));
    expect(new Set(given)).toEqual(new Set(['t1']));
    expect(await endpoint.get()).toBe('t1');
    expect(endpoint.calls).toBe(1);
  });

  it.each<[string, number | undefined, number, number]>([
    ['a minute before it runs out', 3_600, 3_539_000, 3_541_000],
    ['at half time, where a minute is much', 60, 29_000, 31_000],
    ['after an hour less a minute, where nothing is said', undefined, 3_539_000, 3_541_000],
  ])('fetches another one %s', async (_, seconds, stillGood, noLonger) => {
    endpoint.expiresIn = seconds;
    await endpoint.get();
    inMs(stillGood);
    expect(await endpoint.get()).toBe('t1');
    jest.restoreAllMocks();
    inMs(noLonger);
    expect(await endpoint.get()).toBe('t2');
  });

  it('gives another one than the one that was refused, to all who had that', async () => {
    await endpoint.get();
    const given = await Promise.all(Array.from({ length: 50 }, () => endpoint.get('t1')));
    expect(new Set(given)).toEqual(new Set(['t2']));
    expect(await endpoint.get('t1')).toBe('t2');
    expect(endpoint.calls).toBe(2);
  });

  it('asks anew when an operator has given another refresh token', async () => {
    await endpoint.get();
    endpoint.good.add('r-new');
    endpoint.stored = 'r-new';
    expect(await endpoint.get()).toBe('t2');
    expect(await endpoint.get()).toBe('t2');
  });

  it('keeps a refresh token that was exchanged before anybody gets the access token', async () => {
    endpoint.rotates = true;
    expect(await endpoint.get()).toBe('t1');
    expect(endpoint.stored).toBe('r2');
    expect(await endpoint.get()).toBe('t1');
    expect(await endpoint.get('t1')).toBe('t2');
    expect(endpoint.stored).toBe('r3');
  });

  it('does not lose it while the database is away', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'performance'] });
    endpoint.rotates = true;
    endpoint.keepFails = 3;
    const token = endpoint.get();
    for (let second = 0; second < 4; second += 1) {
      await new Promise((next) => setImmediate(() => setImmediate(next)));
      await jest.advanceTimersByTimeAsync(1_000);
    }
    expect(await token).toBe('t1');
    expect([endpoint.stored, endpoint.calls]).toEqual(['r2', 1]);
  });

  it('uses what another instance was given when its own refresh token has become void', async () => {
    endpoint.rotates = true;
    const stale = connectionWith('r1');
    await endpoint.get(undefined, endpoint.instance());
    expect(endpoint.stored).toBe('r2');
    expect(await endpoint.tokens.get('shop.example', platform, stale)).toBe('t3');
    expect(endpoint.stored).toBe('r4');
  });

  it('says that the credentials are refused, in the words of the endpoint', async () => {
    endpoint.good.clear();
    await expect(endpoint.get()).rejects.toThrow(new CredentialsRefused('the token endpoint said invalid_grant'));
    endpoint.good.add('r1');
    expect(await endpoint.get()).toBe('t2');
  });

  it.each<[string, PlatformResponse | Error]>([
    ['is busy', response(503, { error: 'temporarily_unavailable' })],
    ['answers with something else', response(200, { hello: 1 })],
    ['does not answer', new NoAnswer({ kind: 'retry', reason: 'timeout' })],
  ])('is tried again later when the endpoint %s', async (_, trouble) => {
    endpoint.trouble = trouble;
    await expect(endpoint.get()).rejects.toBeInstanceOf(NoAnswer);
  });
});
