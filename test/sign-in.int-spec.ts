import type { Postgres } from '../src/postgres/postgres.js';
import { knownUser, PasswordHasher } from '../src/users/password.js';
import { hashSecretToken } from '../src/users/secret-token.js';
import { SessionsService } from '../src/users/sessions.service.js';
import { byBrowser, byNetwork, bySession, SignInThrottle } from '../src/users/sign-in-throttle.js';
import { UserRow } from '../src/users/user.row.js';
import { UsersService } from '../src/users/users.service.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually } from './support/waiting.js';

const PASSWORD = 'correct horse battery staple';

let server: TestServer;
let postgres: Postgres;
let users: UsersService;
let sessions: SessionsService;

beforeAll(async () => {
  server = await startTestServer();
  postgres = await openDatabase(await createDatabase(server));
  users = new UsersService(postgres, new PasswordHasher({ N: 1_024, r: 8, p: 1 }));
  sessions = new SessionsService(postgres);
});
afterAll(async () => {
  await postgres?.close();
  await server.stop();
});

/** A user who has chosen a password. */
async function addUser(email: string): Promise<UserRow> {
  const { id } = await users.add({ email, role: 'operator', sites: null });
  return (await users.choosePassword((await users.reset(id)).secret, PASSWORD)) as UserRow;
}

async function authenticated(email: string): Promise<UserRow> {
  const user = (await users.findByEmail(email)) as UserRow;
  return (await users.authenticate(user, PASSWORD, knownUser(user.id))) as UserRow;
}

describe('sign-in', () => {
  it('does not let one network use up the limit of an account, nor fill the table', async () => {
    const throttle = new SignInThrottle(postgres);
    const admitted: boolean[] = [];
    const admit = async (address: string) => (await throttle.admit(byNetwork('ada@shop.example', address))) === 0;
    for (let count = 0; count < 250; count += 1) admitted.push(await admit('203.0.113.1'));
    expect(admitted).toEqual([...Array(10).fill(true), ...Array(240).fill(false)]);
    expect(await admit('198.51.100.1')).toBe(true);
    const { rows } = await postgres.pool.query('SELECT FROM cc.sign_in_attempts');
    expect(rows).toHaveLength(11 * 3);
  });

  it('admits any number of people of one network who know their passwords', async () => {
    const throttle = new SignInThrottle(postgres);
    for (let count = 0; count < 60; count += 1) {
      const attempt = byNetwork(`user${count}@shop.example`, '203.0.113.2');
      expect(await throttle.limit(attempt, async () => 'signed in')).toBe('signed in');
    }
  });

  it('takes back one attempt of a network for each success, also for those at once', async () => {
    const throttle = new SignInThrottle(postgres);
    const attempts = Array.from({ length: 50 }, (_, index) => byNetwork(`${index}@shop.example`, '203.0.113.3'));
    for (const attempt of attempts) expect(await throttle.admit(attempt)).toBe(0);
    expect(await throttle.admit(byNetwork('ada@shop.example', '203.0.113.3'))).toBeGreaterThan(0);
    await Promise.all(attempts.slice(0, 3).map((attempt) => throttle.forget(attempt)));
    const admitted: boolean[] = [];
    for (const attempt of attempts.slice(0, 4)) admitted.push((await throttle.admit(attempt)) === 0);
    expect(admitted).toEqual([true, true, true, false]);
  });

  it.each([
    ['a known browser', byBrowser('one')],
    ['a session', bySession('one')],
  ])('leaves ten attempts to %s, whatever others do', async (_, attempt) => {
    const throttle = new SignInThrottle(postgres);
    for (let count = 0; count < 10; count += 1) expect(await throttle.limit(attempt, async () => false)).toBe(false);
    await expect(throttle.limit(attempt, async () => true)).rejects.toThrow('Try again in 15 min');
  });

  it('names the seconds until the oldest attempt does not count any more', async () => {
    const throttle = new SignInThrottle(postgres);
    const attempt = byBrowser('waiting');
    for (let count = 0; count < 10; count += 1) expect(await throttle.admit(attempt)).toBe(0);
    const { key } = attempt[0];
    const oldest = `UPDATE cc.sign_in_attempts SET at = at - interval '10 minutes'
                     WHERE ctid = (SELECT ctid FROM cc.sign_in_attempts WHERE key = $1 ORDER BY at LIMIT 1)`;
    await postgres.pool.query(oldest, [key]);
    const seconds = await throttle.admit(attempt);
    expect(seconds).toBeGreaterThan(200);
    expect(seconds).toBeLessThanOrEqual(300);
    await postgres.pool.query(oldest, [key]);
    expect(await throttle.admit(attempt)).toBe(0);
    expect(await throttle.admit(attempt)).toBeGreaterThan(600);
  });

  it('does not count a password that could not be checked', async () => {
    const throttle = new SignInThrottle(postgres);
    const attempt = byNetwork('unchecked@shop.example', '203.0.113.4');
    const check = () => Promise.reject(new Error('The database is away'));
    for (let count = 0; count < 11; count += 1) await expect(throttle.limit(attempt, check)).rejects.toThrow('away');
    expect(await throttle.admit(attempt)).toBe(0);
  });

  it.each([
    ['13 hours without use', `last_used_at = now() - interval '13 hours'`, false],
    ['11 hours without use', `last_used_at = now() - interval '11 hours'`, true],
    ['its last day', 'expires_at = now()', false],
  ])('gives a session that is not valid after its time: %s', async (what, change, isValid) => {
    const user = await addUser(`${what.replaceAll(' ', '-')}@shop.example`);
    const session = hashSecretToken((await sessions.open(user)) as string);
    expect((await sessions.find(session))?.id).toBe(user.id);
    await postgres.pool.query(`UPDATE cc.user_sessions SET ${change} WHERE hash = $1`, [session]);
    expect((await sessions.find(session))?.id).toBe(isValid ? user.id : undefined);
  });

  it('opens no session with a password that was reset while it was checked', async () => {
    const { id, email } = await addUser('reset@shop.example');
    const user = await authenticated(email);
    await users.reset(id);
    expect(await sessions.open(user)).toBeUndefined();
  });

  it('opens no session for a user who was disabled meanwhile', async () => {
    const { id, email } = await addUser('disabled@shop.example');
    const user = await authenticated(email);
    await users.change(id, { disabled: true });
    expect(await sessions.open(user)).toBeUndefined();
    await users.change(id, { disabled: false });
    expect(await sessions.open(user)).toBeDefined();
  });

  it('ends the link of a user who is disabled, also for the time after', async () => {
    const { id } = await addUser('link@shop.example');
    const { secret: link } = await users.reset(id);
    await users.change(id, { disabled: true });
    await users.change(id, { disabled: false });
    expect(await users.choosePassword(link, PASSWORD)).toBeUndefined();
  });

  it('leaves one link after several resets at once', async () => {
    const { id } = await addUser('links@shop.example');
    await Promise.all(Array.from({ length: 5 }, () => users.reset(id)));
    const { rows } = await postgres.pool.query('SELECT FROM cc.sign_in_links WHERE user_id = $1', [id]);
    expect(rows).toHaveLength(1);
  });

  it('lets a reset and the choice of a password wait for each other without a deadlock', async () => {
    const { id } = await addUser('both@shop.example');
    const { secret: link } = await users.reset(id);
    const client = await postgres.pool.connect();
    await client.query('BEGIN');
    // As a reset does it: first the user.
    await client.query('UPDATE users SET password_hash = NULL WHERE id = $1', [id]);
    const chosen = users.choosePassword(link, PASSWORD);
    await eventually(async () => (await postgres.pool.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount, 1);
    await client.query('DELETE FROM sign_in_links WHERE user_id = $1', [id]);
    await client.query('COMMIT');
    client.release();
    expect(await chosen).toBeUndefined();
  });

  it('works again after the database was away when the first user signed in', async () => {
    const other = await openDatabase(server.url());
    try {
      await server.kill9();
      await expect(other.repository(UserRow)).rejects.toThrow();
      await server.restart();
      expect(await (await other.repository(UserRow)).find()).toEqual([]);
    } finally {
      await other.close();
    }
  });
});
