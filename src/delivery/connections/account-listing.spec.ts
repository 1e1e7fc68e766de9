import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import { answer } from '../../../test/support/platform-answers.js';
import { UserError } from '../../kernel/errors.js';
import type { RefusalKind } from '../../platforms/account-listing.js';
import type { AccountOption, AccountOptions } from '../../platforms/account-options.js';
import { PLATFORMS } from '../../platforms/index.js';
import type { Connection, Platform, PlatformRequest, PlatformResponse, Settings } from '../../platforms/platform.js';
import { type AccessTokens, CredentialsRefused } from './access-tokens.js';
import { listAccount, listConnection } from './account-listing.js';
import { NoResponse, type PlatformClient } from './platform-client.js';

/** The requests of a listing with answers in the form of the platform's documentation, and what is listed. */
interface RecordedListing {
  readonly settings: Settings;
  readonly secrets: Settings;
  readonly accessToken?: string;
  readonly app?: { readonly clientId: string; readonly clientSecret: string };
  readonly exchanges: readonly {
    readonly source: string;
    readonly status?: number;
    readonly body: unknown;
    readonly request?: PlatformRequest;
  }[];
  /** Answers to the first request, with the beginning or a part of the message. */
  readonly refusals: readonly {
    readonly answer: string;
    readonly source: string;
    readonly status: number;
    readonly body: unknown;
    readonly kind: RefusalKind;
    readonly says: string;
  }[];
  readonly listed?: AccountOptions;
}

/** Every `listing*.json` in the fixtures of a platform. */
const LISTINGS = PLATFORMS.filter(({ listAccount }) => listAccount).flatMap((platform) => {
  const folder = join(process.cwd(), 'src/platforms', platform.name, 'fixtures');
  const files = readdirSync(folder).filter((file) => /^listing.*\.json$/.test(file));
  return files.map((file) => ({ platform, name: `${platform.name}, ${file}`, path: join(folder, file) }));
});

function list(
  platform: Platform,
  { settings, secrets, accessToken, app }: Pick<RecordedListing, 'settings' | 'secrets' | 'accessToken' | 'app'>,
  respond: (request: PlatformRequest, index: number) => PlatformResponse,
  account?: string,
) {
  const requests: PlatformRequest[] = [];
  const connection: Connection = { settings, secrets };
  const client = {
    request: async (_: Platform, request: PlatformRequest) => {
      requests.push(request);
      return respond(request, requests.length - 1);
    },
  };
  const listed = listAccount(platform, connection, client, { accessToken, app, nowMs: 0, account });
  return { listed, requests };
}

describe.each(LISTINGS)('the account of $name', ({ platform, path }) => {
  const recorded: RecordedListing = JSON.parse(readFileSync(path, 'utf8'));
  const { exchanges, refusals } = recorded;
  const replay = (_: PlatformRequest, index: number) => {
    const { status = 200, body } = exchanges[index] ?? { body: {} };
    return answer(status, body);
  };

  it('is listed from answers as they are documented', async () => {
    const { listed, requests } = list(platform, recorded, replay);
    const result = await listed;
    if (process.env['UPDATE_FIXTURES'] === '1') {
      const withRequests = requests.map((request, index) => ({ ...exchanges[index], request }));
      const updated = { ...recorded, exchanges: withRequests, listed: result };
      writeFileSync(path, `${JSON.stringify(updated, null, 2)}\n`);
      return;
    }
    expect(requests).toEqual(exchanges.map(({ request }) => request));
    expect(result).toEqual(recorded.listed);
  });

  it('is offered as settings that the connection accepts', async () => {
    const { options } = recorded.listed as AccountOptions;
    const set = options.filter(({ setting }) => setting !== undefined && setting !== 'event');
    for (const { setting = '', value, also } of set) {
      for (const [name, chosen] of Object.entries({ ...also, [setting]: value })) {
        // An empty text removes the setting.
        if (chosen === '') continue;
        const field = platform.fields.find((one) => one.name === name);
        expect([name, field?.check?.(chosen)]).toEqual([name, undefined]);
      }
    }
    for (const { value } of options.filter(({ setting }) => setting === 'event')) {
      const settings = { ...recorded.settings, 'event.purchase': value };
      expect(platform.check?.({ settings, secrets: recorded.secrets })).toBeUndefined();
    }
  });

  it.each(refusals)(
    'is not listed after $answer, and the error says what to do',
    async ({ status, body, ...refusal }) => {
      const { listed } = list(platform, recorded, () => answer(status, body));
      await expect(listed).rejects.toMatchObject({ kind: refusal.kind });
      await expect(listed).rejects.toThrow(UserError);
      await expect(listed).rejects.toThrow(refusal.says);
    },
  );

  it.each([
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'refused'],
    [429, 'throttled'],
    [503, 'unavailable'],
  ])('is not listed after an HTTP %d without an answer of the API: %s', async (status, kind) => {
    const { listed } = list(platform, recorded, () => answer(status, '<html>It works!</html>'));
    await expect(listed).rejects.toMatchObject({ kind });
  });

  it('is not listed after a 200 that is not JSON', async () => {
    const { listed } = list(platform, recorded, () => answer(200, '<html>It works!</html>'));
    await expect(listed).rejects.toThrow(UserError);
  });

  it('is listed without the secrets that an error repeats', async () => {
    const secrets = { ...recorded.secrets, access_token: 'sesame-open' };
    const repeats = JSON.stringify(refusals[0]?.body).replaceAll(/"[^"]* [^"]*"/g, '"sesame-open"');
    const { listed } = list(platform, { ...recorded, secrets }, () => answer(refusals[0]?.status ?? 401, repeats));
    await expect(listed).rejects.not.toThrow('sesame-open');
  });

  it('never fails in another way than with a clear error, whatever the answers are', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(fc.nat(999), hostile()), { maxLength: 6 }), async (changes) => {
        const changed = exchanges.map(({ status = 200, body }) =>
          answer(
            status,
            changes.reduce<unknown>((json, [at, value]) => replaced(json, at, value), body),
          ),
        );
        const respond = (_: PlatformRequest, index: number) => changed[index % changed.length] as PlatformResponse;
        const { listed, requests } = list(platform, recorded, respond);
        const result = await listed.catch((error: unknown) => error);
        expect(requests.length).toBeLessThanOrEqual(60);
        if (result instanceof Error) {
          expect(result).toBeInstanceOf(UserError);
          expect(result.message.length).toBeLessThan(500);
          return;
        }
        const { options } = result as AccountOptions;
        expect(options.length).toBeLessThanOrEqual(2_000);
        expect(options.filter((option) => !isClean(option))).toEqual([]);
      }),
      { numRuns: 60, seed: 17 },
    );
  });
});

function isClean({ value, label, problem = '' }: AccountOption): boolean {
  const isLabel = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,120}$/u.test(label);
  return isLabel && [...value].length <= 120 && problem.length < 500;
}

/** More than are listed. */
const MANY = Array.from({ length: 2_100 }, (_, id) => ({ id: String(1_000_000_000 + id), name: `n${id}` }));

it('every platform that lists has a recorded listing', () => {
  const listing = PLATFORMS.filter(({ listAccount }) => listAccount).map(({ name }) => name);
  expect([...new Set(LISTINGS.map(({ platform }) => platform.name))]).toEqual(listing);
  expect(listing.length).toBe(8);
});

describe('a listing of an account', () => {
  const platform = PLATFORMS.find(({ name }) => name === 'pinterest') as Platform;
  const account = { settings: {}, secrets: { access_token: 'token' } };
  /** Without an end. */
  const page = (index: number) =>
    answer(200, { items: [{ id: String(1_000 + index), name: `Shop ${index}` }], bookmark: `b${index}` });

  it('ends after a number of pages, and says that there is more', async () => {
    const { listed, requests } = list(platform, account, (_, index) => page(index));
    expect(await listed).toMatchObject({ truncated: true, options: { length: 10 } });
    expect(requests).toHaveLength(10);
  });

  it('ends when a platform repeats a page', async () => {
    const { listed, requests } = list(platform, account, () => page(0));
    expect(await listed).toMatchObject({ truncated: false, options: { length: 1 } });
    expect(requests).toHaveLength(2);
  });

  it.each(['x'.repeat(3_000), 'two words', '\ud800'])(
    'follows no cursor that does not fit into an address',
    async (bookmark) => {
      const { listed, requests } = list(platform, account, () => answer(200, { items: [], bookmark }));
      expect(await listed).toEqual({ options: [], truncated: true });
      expect(requests).toHaveLength(1);
    },
  );

  it('starts no request after the time limit, and returns what it has', async () => {
    let nowMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    try {
      const { listed } = list(platform, account, (_, index) => {
        nowMs += 9_000;
        return page(index);
      });
      expect(await listed).toMatchObject({ truncated: true, options: { length: 3 } });
    } finally {
      clock.mockRestore();
    }
  });

  it('is refused while five others run, until one has ended', async () => {
    let answerAll = () => {};
    const answered = new Promise<void>((resolve) => {
      answerAll = resolve;
    });
    const client = {
      request: async () => {
        await answered;
        return answer(200, { items: [], bookmark: null });
      },
    };
    const start = () => listAccount(platform, account, client, { accessToken: undefined, nowMs: 0 });
    const running = Array.from({ length: 5 }, start);
    await expect(start()).rejects.toThrow('Try again in some seconds.');
    answerAll();
    await Promise.all(running);
    expect(await start()).toEqual({ options: [], truncated: false });
  });

  it('is repeated with a new token after the platform has refused a stored one', async () => {
    const used: (string | undefined)[] = [];
    const client = {
      request: async (_: Platform, { headers }: PlatformRequest) => {
        used.push(headers['authorization']);
        return headers['authorization'] === 'Bearer new' ? answer(200, { items: [], bookmark: null }) : answer(401);
      },
    };
    const tokens = { get: async (_owner: unknown, _connection: unknown, stale?: string) => (stale ? 'new' : 'old') };
    const owner = { site: 'shop.example', name: 'pinterest' as const, platform };
    const once = () =>
      listConnection(owner, account, client as unknown as PlatformClient, tokens as AccessTokens, { nowMs: 0 });
    expect(await once()).toEqual({ options: [], truncated: false });
    expect(used).toEqual(['Bearer old', 'Bearer new']);
    tokens.get = async () => 'old';
    await expect(once()).rejects.toThrow('Sign in again with Pinterest.');
    expect(used).toHaveLength(4);
  });

  it('fails with the cause if there is no answer, or no token', async () => {
    const owner = { site: 'shop.example', name: 'pinterest' as const, platform };
    const noResponse = new NoResponse(
      { kind: 'retry', reason: 'timeout', unknown: true },
      'api.pinterest.com is silent.',
    );
    const client = { request: async () => Promise.reject(noResponse) };
    const tokens = { get: async () => undefined as string | undefined };
    const once = () =>
      listConnection(owner, account, client as unknown as PlatformClient, tokens as unknown as AccessTokens, {
        nowMs: 0,
      });
    await expect(once()).rejects.toThrow(
      new UserError('The account could not be listed: api.pinterest.com is silent.'),
    );
    tokens.get = () => Promise.reject(new CredentialsRefused('the token endpoint returned invalid_grant'));
    await expect(once()).rejects.toThrow(
      new UserError(
        'No access token could be obtained: the token endpoint returned invalid_grant. Sign in again, or set new credentials.',
      ),
    );
  });
});

/** Values that no parser expects. */
function hostile(): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.constantFrom<unknown>(
      null,
      true,
      -1,
      1e300,
      '',
      [],
      {},
      [[null]],
      [null, 0, 'x', { id: null }],
      'x'.repeat(5_000),
    ),
    fc.constantFrom(
      '<img src=x onerror=alert(1)>',
      'a\nb\r\n\tc',
      '\u202eevil\u2066',
      '\ud800',
      '../../secrets',
      "1' OR 1=1",
    ),
    fc.constant(MANY),
    fc.jsonValue({ maxDepth: 3 }),
  );
}

/** The JSON with one of its values replaced. */
function replaced(json: unknown, place: number, value: unknown): unknown {
  const places: [object, string][] = [];
  const copy = structuredClone(json);
  const visit = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, below] of Object.entries(node)) {
      places.push([node, name]);
      visit(below);
    }
  };
  visit(copy);
  const [node, name] = places[place % Math.max(places.length, 1)] ?? [];
  if (node === undefined || name === undefined) return value;
  (node as Record<string, unknown>)[name] = value;
  return copy;
}
