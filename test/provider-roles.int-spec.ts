import { USER } from '../src/events/user.events.js';
import { readStream } from '../src/log/event-reader.js';
import { type AdminClient, useAdmin } from './support/admin.js';
import { startTestProvider } from './support/oidc-provider.js';
import { ProviderBrowser } from './support/provider-browser.js';

const provider = await startTestProvider();
const admin = await useAdmin({ ...provider.environment, OIDC_ROLE_CLAIM: 'roles' });
provider.register(admin.url);
await admin.addUser('admin');
afterAll(() => provider.stop());

interface Person {
  readonly id: string;
  readonly session: AdminClient;
  readonly token: AdminClient;
  readonly created: { readonly expiresAt: string | null };
}

function setRoles(login: string, roles: unknown): void {
  provider.people.set(login, { email: `${login}@team.example`, email_verified: true, roles });
}

/** Signs in with these roles, and creates a token. */
async function signIn(login: string, roles: unknown): Promise<Person> {
  setRoles(login, roles);
  const browser = new ProviderBrowser(admin.url);
  await browser.get(await browser.signInAtProvider(login));
  const session = admin.withHeaders({ cookie: browser.cookies(), 'x-cc-csrf': '1' });
  const { id } = (await session('/session')).body;
  const created = (await session.post('/tokens', { name: 'CI', scopes: ['read'] })).body;
  return { id, session, token: admin.withHeaders({ authorization: `Bearer ${created.token}` }), created };
}

/** As if the provider had last been asked so long ago. */
async function letMinutesPass(id: string, minutes: number): Promise<void> {
  await admin.postgres.pool.query(
    'UPDATE cc.users SET confirmed_at = now() - make_interval(mins => $2) WHERE id = $1',
    [id, minutes],
  );
}

async function statuses({ session, token }: Person): Promise<number[]> {
  return [(await session('/session')).status, (await token('/session')).status];
}

describe('a user whose role is given by the sign-in provider', () => {
  it('loses sessions and tokens when the provider withdraws the role', async () => {
    const person = await signIn('ada', 'operator');
    setRoles('ada', []);
    expect(await statuses(person)).toEqual([200, 200]);
    await letMinutesPass(person.id, 11);
    expect(await statuses(person)).toEqual([401, 401]);
    const types = (await readStream(admin.postgres.pool, USER, person.id)).map(({ type }) => type);
    expect(types.slice(-2)).toEqual(['user.signed_out_everywhere.v1', 'user.token_revoked.v1']);
    // The token stays revoked when the role is back.
    await signIn('ada', 'operator');
    expect(await statuses(person)).toEqual([401, 401]);
  });

  it('loses sessions and tokens at once when it is refused at sign-in', async () => {
    const person = await signIn('bob', 'operator');
    setRoles('bob', []);
    const browser = new ProviderBrowser(admin.url);
    await browser.get(await browser.signInAtProvider('bob'));
    expect(await statuses(person)).toEqual([401, 401]);
  });

  it('keeps sessions and tokens, with the newest role, as long as the provider confirms it', async () => {
    const person = await signIn('carol', 'operator');
    for (const role of ['analyst', 'operator']) {
      setRoles('carol', role);
      await letMinutesPass(person.id, 11);
      expect((await person.session('/session')).body).toMatchObject({ role });
    }
    expect(await statuses(person)).toEqual([200, 200]);
  });

  it('that was an administrator has no sites in another role, until an administrator gives it some', async () => {
    const person = await signIn('dora', 'admin');
    setRoles('dora', 'operator');
    await letMinutesPass(person.id, 11);
    expect((await person.session('/session')).body).toMatchObject({ role: 'operator', sites: [] });
    await signIn('dora', 'admin');
    expect((await (await signIn('dora', 'analyst')).session('/session')).body).toMatchObject({ sites: [] });
  });

  it('is asked for once by several requests, and refused after 15 minutes without an answer', async () => {
    const person = await signIn('eve', 'operator');
    await letMinutesPass(person.id, 11);
    const answers = await Promise.all(Array.from({ length: 5 }, () => person.session('/session')));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200));
    provider.isAway = true;
    try {
      await letMinutesPass(person.id, 11);
      expect(await statuses(person)).toEqual([200, 200]);
      await letMinutesPass(person.id, 16);
      expect(await statuses(person)).toEqual([401, 401]);
    } finally {
      provider.isAway = false;
    }
    expect(await statuses(person)).toEqual([200, 200]);
  });

  it('that ended its session at the provider has to sign in again; its tokens work then', async () => {
    const person = await signIn('finn', 'operator');
    await admin.postgres.pool.query('UPDATE cc.users SET provider_grant = NULL WHERE id = $1', [person.id]);
    await letMinutesPass(person.id, 16);
    expect(await statuses(person)).toEqual([401, 401]);
    await signIn('finn', 'operator');
    expect((await person.token('/session')).status).toBe(200);
  });

  it('has tokens that expire', async () => {
    const { created, session } = await signIn('gina', 'operator');
    expect(Date.parse(created.expiresAt as string)).toBeLessThanOrEqual(Date.now() + 90 * 24 * 60 * 60 * 1_000);
    const body = { name: 'Long', scopes: ['read'], expiresInDays: 400 };
    expect((await session.post('/tokens', body)).status).toBe(422);
  });
});
