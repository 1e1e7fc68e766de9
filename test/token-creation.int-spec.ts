import { APPEND_LOCK } from '../src/log/append/append-lock.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { PasswordHasher } from '../src/users/password.js';
import { SessionsService } from '../src/users/sessions.service.js';
import { TokensService } from '../src/users/tokens.service.js';
import { UsersService } from '../src/users/users.service.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { eventually } from './support/waiting.js';

let postgres: Postgres;
let users: UsersService;
let sessions: SessionsService;
let tokens: TokensService;

beforeAll(async () => {
  postgres = await openDatabase(await createDatabase());
  users = new UsersService(postgres, new PasswordHasher());
  sessions = new SessionsService(postgres);
  tokens = new TokensService(postgres);
});
afterAll(async () => {
  await postgres?.close();
});

let count = 0;
async function signedIn() {
  count += 1;
  const user = await users.add({ email: `user-${count}@team.example`, role: 'operator', sites: null });
  return { userId: user.id, session: (await sessions.open(user)) as string };
}

const TOKEN = { name: 'CI', scopes: ['read'], sites: null } as const;

const waiting = async () => (await postgres.pool.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount;

/** Both run at once: the first has changed its rows and waits to append its event when the second begins. */
async function inThisOrder<One, Other>(first: () => Promise<One>, second: () => Promise<Other>) {
  const client = await postgres.pool.connect();
  await client.query('SELECT pg_advisory_lock($1)', [APPEND_LOCK]);
  try {
    const one = first();
    await eventually(waiting, (number) => number === 1);
    const other = second();
    await eventually(waiting, (number) => number === 2);
    await client.query('SELECT pg_advisory_unlock($1)', [APPEND_LOCK]);
    return [await one, await other] as const;
  } finally {
    client.release(true);
  }
}

const validTokens = async (userId: string) =>
  (await tokens.list(userId)).filter(({ revokedAt }) => revokedAt === null).length;

describe('a token that is created while its user is reset with revocation', () => {
  it('is revoked if it is created first', async () => {
    const caller = await signedIn();
    const [created, reset] = await inThisOrder(
      () => tokens.create(caller, TOKEN),
      () => users.reset(caller.userId, 'system', { revokeTokens: true }),
    );
    expect(reset.validTokens).toBe(0);
    expect(await validTokens(caller.userId)).toBe(0);
    expect(await tokens.find(created?.token as string)).toBeUndefined();
  });

  it('is not created if the reset comes first, which has ended the session', async () => {
    const caller = await signedIn();
    const [reset, created] = await inThisOrder(
      () => users.reset(caller.userId, 'system', { revokeTokens: true }),
      () => tokens.create(caller, TOKEN),
    );
    expect(created).toBeUndefined();
    expect(reset.validTokens).toBe(0);
    expect(await tokens.list(caller.userId)).toEqual([]);
  });

  it('is not created with the session of another user', async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    expect(await tokens.create({ userId: one.userId, session: other.session }, TOKEN)).toBeUndefined();
    expect(await tokens.create(one, TOKEN)).toMatchObject({ row: { ownerId: one.userId } });
  });
});
