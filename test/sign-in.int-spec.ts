import { jest } from '@jest/globals';
import type { Postgres } from '../src/postgres/postgres.js';
import { PasswordHasher } from '../src/users/password.js';
import { SessionsService } from '../src/users/sessions.service.js';
import { SignInThrottle } from '../src/users/sign-in-throttle.js';
import { UserRow } from '../src/users/user.row.js';
import { UsersService } from '../src/users/users.service.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually } from './support/waiting.js';

jest.setTimeout(60_000);

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
}, 60_000);

/** A user who has chosen a password. */
async function addUser(email: string): Promise<UserRow> {
  const { id } = await users.add({ email, role: 'operator', sites: null });
  return (await users.choosePassword((await users.reset(id)).secret, PASSWORD)) as UserRow;
}

describe('sign-in', () => {
  it('does not let one network use up the limit of an account, nor fill the table', async () => {
    const throttle = new SignInThrottle(postgres);
    const admitted: boolean[] = [];
    for (let count = 0; count < 250; count += 1) admitted.push(await throttle.admit('ada@shop.example', '203.0.113.1'));
    expect(admitted).toEqual([...Array(10).fill(true), ...Array(240).fill(false)]);
    expect(await throttle.admit('ada@shop.example', '198.51.100.1')).toBe(true);
    const { rows } = await postgres.pool.query('SELECT FROM cc.sign_in_attempts');
    expect(rows).toHaveLength(11 * 3);
  });

  it('admits any number of people of one network who know their passwords', async () => {
    const throttle = new SignInThrottle(postgres);
    for (let count = 0; count < 60; count += 1) {
      expect(await throttle.admit(`user${count}@shop.example`, '203.0.113.2')).toBe(true);
      await throttle.forget(`user${count}@shop.example`, '203.0.113.2');
    }
  });

  it('takes back one attempt of a network for each success, also for those at once', async () => {
    const throttle = new SignInThrottle(postgres);
    const names = Array.from({ length: 50 }, (_, index) => `guessed${index}@shop.example`);
    for (const name of names) expect(await throttle.admit(name, '203.0.113.3')).toBe(true);
    expect(await throttle.admit('ada@shop.example', '203.0.113.3')).toBe(false);
    await Promise.all(names.slice(0, 3).map((name) => throttle.forget(name, '203.0.113.3')));
    const admitted: boolean[] = [];
    for (const name of names.slice(0, 4)) admitted.push(await throttle.admit(name, '203.0.113.3'));
    expect(admitted).toEqual([true, true, true, false]);
  });

  it('opens no session with a password that was reset while it was checked', async () => {
    const { id, email } = await addUser('reset@shop.example');
    const user = (await users.authenticate(email, PASSWORD)) as UserRow;
    await users.reset(id);
    expect(await sessions.open(user)).toBeUndefined();
  });

  it('opens no session for a user who was disabled meanwhile', async () => {
    const { id, email } = await addUser('disabled@shop.example');
    const user = (await users.authenticate(email, PASSWORD)) as UserRow;
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
    await eventually(
      async () => (await postgres.pool.query('SELECT FROM pg_locks WHERE NOT granted')).rowCount,
      (count) => count === 1,
    );
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
