import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { AccessTokens } from '../src/delivery/connections/access-tokens.js';
import { NoResponse } from '../src/delivery/connections/platform-client.js';
import { DatabaseTokenStore } from '../src/delivery/connections/token-store.js';
import { Sealer } from '../src/kernel/sealing.js';
import { platformOf } from '../src/platforms/index.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse } from '../src/platforms/platform.js';
import type { Postgres } from '../src/postgres/postgres.js';
import type { SandboxRequest } from '../src/sandbox/double.js';
import { tokenAnswer } from '../src/sandbox/token-endpoint.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { eventually } from './support/waiting.js';

const SITE = 'shop.example';
const platform = platformOf('microsoft_ads') as Platform;
const SETTINGS = { mode: 'offline', client_id: 'c' };
const SECRETS = { client_secret: 's', refresh_token: 'first' };
const sealer = new Sealer(randomBytes(32));

let databaseUrl: string;
const opened: Postgres[] = [];

/** The endpoint voids a refresh token when it is used. */
class RotatingEndpoint {
  calls = 0;
  /** Resolves before an answer is given, and after the token was used. */
  beforeAnswer: Promise<unknown> = Promise.resolve();
  private readonly memory = new Map();

  async request(_: Platform, post: PlatformRequest, __: Connection, mayGo?: () => boolean): Promise<PlatformResponse> {
    if (mayGo?.() === false) throw new NoResponse({ kind: 'retry', reason: 'network_error', unknown: false });
    this.calls += 1;
    const { memory } = this;
    const answered = tokenAnswer({ ...post, memory } as unknown as SandboxRequest, { rotates: true });
    await this.beforeAnswer;
    const text = String(answered.body);
    return { status: answered.status, headers: {}, text, json: JSON.parse(text) };
  }
}

interface Instance {
  readonly postgres: Postgres;
  readonly secrets: SiteSecrets;
  token(stale?: string): Promise<string | undefined>;
}

/** A process with its own connections to the database. */
async function startInstance(endpoint: RotatingEndpoint): Promise<Instance> {
  const postgres = await openDatabase(databaseUrl);
  opened.push(postgres);
  const secrets = new SiteSecrets(postgres.pool, sealer);
  const connection: Connection = { settings: SETTINGS, secrets: SECRETS };
  const store = new DatabaseTokenStore(postgres, secrets, async () => connection);
  const tokens = new AccessTokens(endpoint, store);
  return {
    postgres,
    secrets,
    token: (stale) => tokens.get({ site: SITE, name: platform.name, platform }, connection, stale),
  };
}

beforeEach(async () => {
  databaseUrl = await createDatabase();
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((postgres) => postgres.close()));
});

const storedToken = async ({ secrets }: Instance) =>
  (await secrets.connectionSecrets(SITE, 'microsoft_ads'))['refresh_token'];
const leases = async ({ postgres }: Instance) =>
  (await postgres.pool.query('SELECT FROM cc.leases WHERE until > clock_timestamp()')).rowCount;
const expireLeases = ({ postgres }: Instance) =>
  postgres.pool.query(`UPDATE cc.leases SET until = '-infinity', holder = gen_random_uuid()`);

describe('refresh tokens', () => {
  it('are used by one of two instances at a time, and none is lost in 20 rotations', async () => {
    const endpoint = new RotatingEndpoint();
    const instances = [await startInstance(endpoint), await startInstance(endpoint)] as const;
    await instances[0].secrets.storeConnectionSecrets(SITE, 'microsoft_ads', SECRETS);
    let stale: string | undefined;
    for (let round = 1; round <= 20; round += 1) {
      // Both instances find at once that the access token is no longer valid.
      const [one, other] = await Promise.all(instances.map((instance) => instance.token(stale)));
      expect(one).toBe(other);
      expect(one).toBe(`sandbox-token-${round}`);
      stale = one;
    }
    expect(endpoint.calls).toBe(20);
    expect(await storedToken(instances[0])).toBe('sandbox-refresh-20');
    await eventually(
      () => leases(instances[0]),
      (count) => count === 0,
    );
  });

  it('are kept when an instance is frozen during a refresh for longer than its lock', async () => {
    const endpoint = new RotatingEndpoint();
    const [frozen, other] = [await startInstance(endpoint), await startInstance(endpoint)];
    await frozen.secrets.storeConnectionSecrets(SITE, 'microsoft_ads', SECRETS);
    let thaw: () => void = () => {};
    endpoint.beforeAnswer = new Promise<void>((resolve) => {
      thaw = resolve;
    });
    const pending = frozen.token();
    await eventually(
      async () => endpoint.calls,
      (calls) => calls === 1,
    );
    endpoint.beforeAnswer = Promise.resolve();
    await expireLeases(frozen);
    await expect(other.token()).rejects.toBeInstanceOf(NoResponse);
    thaw();
    expect(await pending).toBe('sandbox-token-1');
    expect(await storedToken(other)).toBe('sandbox-refresh-1');
    expect(await other.token()).toBe('sandbox-token-1');
  });

  it('that an operator sets during a refresh are not overwritten, nor stored again after a disconnection', async () => {
    const endpoint = new RotatingEndpoint();
    const instance = await startInstance(endpoint);
    const { secrets } = instance;
    await secrets.storeConnectionSecrets(SITE, 'microsoft_ads', SECRETS);
    let answer: () => void = () => {};
    endpoint.beforeAnswer = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const pending = instance.token();
    await eventually(
      async () => endpoint.calls,
      (calls) => calls === 1,
    );
    await secrets.storeConnectionSecrets(SITE, 'microsoft_ads', { refresh_token: 'by the operator' });
    answer();
    await pending;
    expect(await storedToken(instance)).toBe('by the operator');

    await secrets.deleteConnectionSecrets(SITE, 'microsoft_ads', ['client_secret', 'refresh_token']);
    expect(await secrets.connectionSecrets(SITE, 'microsoft_ads')).toEqual({});
    const expected = { field: 'refresh_token', value: 'by the operator' };
    expect(await secrets.replaceSecrets(SITE, 'microsoft_ads', expected, { refresh_token: 'late' })).toBe(false);
    expect(await secrets.connectionSecrets(SITE, 'microsoft_ads')).toEqual({});
  });

  it('are replaced also while they are sealed again with another key', async () => {
    const instance = await startInstance(new RotatingEndpoint());
    const { secrets, postgres } = instance;
    await secrets.storeConnectionSecrets(SITE, 'microsoft_ads', SECRETS);
    const query = postgres.pool.query.bind(postgres.pool) as (text: string, values: unknown[]) => Promise<unknown>;
    const spied = jest.spyOn(postgres.pool, 'query').mockImplementation((async (text: string, values: unknown[]) => {
      if (text.includes('FOR UPDATE')) {
        spied.mockRestore();
        await secrets.storeConnectionSecrets(SITE, 'microsoft_ads', { refresh_token: 'first' });
      }
      return query(text, values);
    }) as never);
    const expected = { field: 'refresh_token', value: 'first' };
    expect(await secrets.replaceSecrets(SITE, 'microsoft_ads', expected, { refresh_token: 'second' })).toBe(true);
    expect(await storedToken(instance)).toBe('second');
  });
});
