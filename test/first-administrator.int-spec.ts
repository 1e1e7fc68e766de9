import { FirstAdministrator } from '../src/users/first-administrator.js';
import { PasswordHasher } from '../src/users/password.js';
import { cookieOf, PASSWORD, startTestAdmin, type TestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';

describe('the first administrator', () => {
  let admin: TestAdmin;
  let first: FirstAdministrator;

  beforeEach(async () => {
    admin = await startTestAdmin(await createDatabase());
    first = new FirstAdministrator(admin.postgres, new PasswordHasher({ N: 1_024, r: 8, p: 1 }));
  });
  afterEach(() => admin?.stop());
  const use = (link: unknown, email?: string) =>
    admin.anonymous.post('/session/password', { link, password: PASSWORD, email });
  const emails = async () => (await admin.users.list()).map(({ email }) => email);

  it('is created with a link, which works once', async () => {
    const link = await first.createLink();
    const reply = await use(link, 'Ada@shop.example');
    expect(reply).toMatchObject({ status: 200, body: { email: 'ada@shop.example', role: 'admin', sites: null } });
    const signedIn = admin.withHeaders({ cookie: cookieOf(reply) });
    expect((await signedIn('/users')).body.items).toHaveLength(1);
    expect((await use(link, 'eve@shop.example')).status).toBe(401);
    expect(await first.createLink()).toBeUndefined();
    expect(await emails()).toEqual(['ada@shop.example']);
  });

  it('has the address of the settings if the link is used without one', async () => {
    expect((await use(await first.createLink())).body.email).toBe('admin@localhost');
    const body = { email: 'admin@localhost', password: PASSWORD };
    expect((await admin.anonymous.post('/session', body)).status).toBe(200);
  });

  it('needs an email address and a good password, and the link can be used after a mistake', async () => {
    const link = await first.createLink();
    expect((await use(link, 'ada')).body.errors).toMatchObject([{ field: 'email' }]);
    const body = { link, password: 'short' };
    expect((await admin.anonymous.post('/session/password', body)).status).toBe(422);
    expect((await use(link, 'ada@shop.example')).status).toBe(200);
  });

  it('is one, also if several links are used and passwords set at once', async () => {
    const links = await Promise.all([first.createLink(), first.createLink(), first.createLink()]);
    const added = await Promise.all([
      ...links.map(async (link, at) => (await use(link, `user${at}@shop.example`)).status === 200),
      first.add('admin@localhost', PASSWORD).then((user) => user !== undefined),
      first.add('other@localhost', PASSWORD).then((user) => user !== undefined),
    ]);
    expect(added.filter(Boolean)).toHaveLength(1);
    expect(await emails()).toHaveLength(1);
  });

  it('is not created after another user was added', async () => {
    const link = await first.createLink();
    await admin.addUser('analyst');
    expect((await use(link, 'ada@shop.example')).status).toBe(401);
    expect(await first.add('admin@localhost', PASSWORD)).toBeUndefined();
    expect(await emails()).toHaveLength(1);
  });

  it('cannot be created with an expired link, nor with the link of a user', async () => {
    const link = await first.createLink();
    await admin.postgres.pool.query(`UPDATE sign_in_links SET expires_at = now() - interval '1 second'`);
    expect((await use(link, 'ada@shop.example')).status).toBe(401);
    expect((await use('first_unknown', 'ada@shop.example')).status).toBe(401);
    expect(await emails()).toEqual([]);
  });
});
