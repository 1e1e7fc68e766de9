import { jest } from '@jest/globals';
import { USER } from '../src/events/user.events.js';
import { Logger } from '../src/kernel/logger.js';
import { readStream } from '../src/log/event-reader.js';
import { cookieOf, PASSWORD, startTestAdmin, useAdmin } from './support/admin.js';
import { startTestProvider } from './support/oidc-provider.js';
import { ProviderBrowser } from './support/provider-browser.js';

const provider = await startTestProvider();
let admin = await useAdmin(provider.environment);
provider.register(admin.url);
afterAll(() => provider.stop());

/** The user that the browser is signed in as. */
async function userOf(browser: ProviderBrowser) {
  const jar = browser.jar(admin.url);
  if (!jar.has(`__Host-cc_session_${new URL(admin.url).port}`)) return undefined;
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ');
  return (await admin.withHeaders({ cookie })('/session')).body;
}

describe('sign-in at an OpenID Connect provider', () => {
  it('signs a user in by verified email address, and afterwards by account', async () => {
    const { id, email } = await admin.addUser('operator');
    provider.people.set('ada', { email, email_verified: true, name: 'Ada' });
    const browser = new ProviderBrowser(admin.url);
    const back = await browser.get(await browser.signInAtProvider('ada'));
    expect(back).toMatchObject({ status: 303, location: `${admin.url}/` });
    expect(await userOf(browser)).toMatchObject({ id, role: 'operator' });
    const linked = async () =>
      (await readStream(admin.postgres.pool, USER, id))
        .map(({ type }) => type)
        .filter((type) => type !== 'user.signed_in.v1');
    expect(await linked()).toEqual(['user.added.v1', 'user.identity_linked.v1']);
    // The address now belongs to another account at the provider.
    provider.people.set('ada', { email: 'renamed@team.example', email_verified: true });
    provider.people.set('eve', { email, email_verified: true });
    const [renamed, other] = [new ProviderBrowser(admin.url), new ProviderBrowser(admin.url)];
    await renamed.get(await renamed.signInAtProvider('ada'));
    expect(await userOf(renamed)).toMatchObject({ id });
    expect(await linked()).toHaveLength(2);
    const refused = await other.get(await other.signInAtProvider('eve'));
    expect(refused.location).toBe(`${admin.url}/sign-in?refused=unknown_user`);
    expect(await userOf(other)).toBeUndefined();
  });

  it('refuses unknown users, unverified addresses and disabled users', async () => {
    const { email } = await admin.addUser('analyst');
    const disabled = await admin.addUser('analyst');
    await admin.addUser('admin');
    await admin.users.change(disabled.id, { disabled: true });
    provider.people.set('unknown', { email: 'unknown@team.example', email_verified: true });
    provider.people.set('unverified', { email, email_verified: false });
    provider.people.set('disabled', { email: disabled.email, email_verified: true });
    for (const login of ['unknown', 'unverified', 'disabled']) {
      const browser = new ProviderBrowser(admin.url);
      const back = await browser.get(await browser.signInAtProvider(login));
      expect(back.location).toBe(`${admin.url}/sign-in?refused=unknown_user`);
      expect(await userOf(browser)).toBeUndefined();
    }
  });

  it('refuses an answer for another browser, a repeated one and a cancelled one', async () => {
    const { email } = await admin.addUser('operator');
    provider.people.set('bob', { email, email_verified: true });
    const [browser, victim] = [new ProviderBrowser(admin.url), new ProviderBrowser(admin.url)];
    const callback = await browser.signInAtProvider('bob');
    expect((await victim.get(callback)).location).toBe(`${admin.url}/sign-in?refused=expired`);
    // With a request of its own, whose state differs.
    await victim.get(`${admin.url}/api/v1/session/provider`);
    expect((await victim.get(callback)).location).toBe(`${admin.url}/sign-in?refused=failed`);
    expect(await userOf(victim)).toBeUndefined();
    const pending = browser.jar(admin.url).get(`__Host-cc_sign_in_${new URL(admin.url).port}`) as string;
    expect((await browser.get(callback)).location).toBe(`${admin.url}/`);
    // A code works once, also with the state that belongs to it.
    browser.jar(admin.url).set(`__Host-cc_sign_in_${new URL(admin.url).port}`, pending);
    expect((await browser.get(callback)).location).toBe(`${admin.url}/sign-in?refused=failed`);
    const state = new URL(callback).searchParams.get('state');
    browser.jar(admin.url).set(`__Host-cc_sign_in_${new URL(admin.url).port}`, pending);
    const cancelled = new URL(callback);
    cancelled.search = `?error=access_denied&state=${state}&iss=${encodeURIComponent(provider.issuer)}`;
    expect((await browser.get(cancelled.href)).location).toBe(`${admin.url}/sign-in?refused=cancelled`);
  });

  it.each([
    ['30 seconds behind', -30, ''],
    ['30 seconds ahead', 30, ''],
    // Its tokens are valid for a minute, and a minute is tolerated.
    ['some seconds more than a minute behind', -65, ''],
    ['an hour behind', -3_600, 'sign-in?refused=clock'],
    ['an hour ahead', 3_600, 'sign-in?refused=clock'],
  ])('tolerates about a minute with a clock of the provider that is %s', async (_, seconds, page) => {
    const { id, email } = await admin.addUser('operator');
    // An account of its own: the first sign-in binds it to the user.
    const login = `dora${seconds}`;
    provider.people.set(login, { email, email_verified: true });
    provider.clockAheadMs = seconds * 1_000;
    const warn = jest.spyOn(Logger.prototype, 'warn');
    try {
      const browser = new ProviderBrowser(admin.url);
      const back = await browser.get(await browser.signInAtProvider(login));
      expect(back.location).toBe(`${admin.url}/${page}`);
      expect((await userOf(browser))?.id).toBe(page === '' ? id : undefined);
      const reasons = warn.mock.calls.map(([, fields]) => (fields as { reason?: string } | undefined)?.reason);
      expect(reasons).toEqual(
        page === '' ? [] : [expect.stringMatching(/differ by more than 60 s\. Synchronise both/)],
      );
    } finally {
      warn.mockRestore();
      provider.clockAheadMs = 0;
    }
  });

  it('takes roles from a claim, adds users that have one, and refuses those who lost it', async () => {
    const environment = { ...provider.environment, OIDC_ROLE_CLAIM: 'roles' };
    const mapped = await startTestAdmin(admin.databaseUrl, environment);
    const direct = admin;
    admin = mapped;
    provider.register(mapped.url);
    try {
      const person = { email: 'carol@team.example', email_verified: true, name: 'Carol' };
      const signIn = async (roles: unknown) => {
        provider.people.set('carol', { ...person, roles });
        const browser = new ProviderBrowser(admin.url);
        await browser.get(await browser.signInAtProvider('carol'));
        return userOf(browser);
      };
      expect(await signIn(['staff'])).toBeUndefined();
      expect(await signIn(['staff', 'analyst'])).toMatchObject({ email: person.email, role: 'analyst', sites: [] });
      expect(await signIn('operator')).toMatchObject({ role: 'operator' });
      expect(await signIn([])).toBeUndefined();
    } finally {
      admin = direct;
      provider.register(direct.url);
      await mapped.stop();
    }
  });

  it('refuses an ID token whose signature is not valid', async () => {
    const { email } = await admin.addUser('operator');
    provider.people.set('mallory', { email, email_verified: true });
    const browser = new ProviderBrowser(admin.url);
    const callback = await browser.signInAtProvider('mallory');
    provider.forges = true;
    try {
      expect((await browser.get(callback)).location).toBe(`${admin.url}/sign-in?refused=failed`);
    } finally {
      provider.forges = false;
    }
    expect(await userOf(browser)).toBeUndefined();
  });

  it('knows a session that came from the provider until the user signs in otherwise, or out', async () => {
    const { id, email } = await admin.addUser('operator');
    provider.people.set('finn', { email, email_verified: true });
    const browser = new ProviderBrowser(admin.url);
    await browser.get(await browser.signInAtProvider('finn'));
    expect(await userOf(browser)).toMatchObject({ id, provider: true });
    const cookie = [...browser.jar(admin.url)].map(([name, value]) => `${name}=${value}`).join('; ');
    const caller = admin.withHeaders({ cookie, 'x-cc-csrf': '1' });
    const { secret: link } = await admin.users.reset(id);
    const replies = [
      await caller.post('/session/password', { link, password: PASSWORD }),
      await caller.delete('/session'),
    ];
    for (const { headers } of replies)
      expect([headers['set-cookie']].flat()).toContainEqual(expect.stringMatching(/cc_provider_\d+=;.* Max-Age=0$/));
    const plain = admin.withHeaders({ cookie: cookieOf(replies[0] as (typeof replies)[0]) });
    expect((await plain('/session')).body).not.toHaveProperty('provider');
  });

  it('signs out at the provider and comes back', async () => {
    const out = await new ProviderBrowser(admin.url).get(`${admin.url}/api/v1/session/provider/sign-out`);
    const url = new URL(out.location as string);
    expect(url.origin).toBe(provider.issuer);
    expect(url.searchParams.get('post_logout_redirect_uri')).toBe(`${admin.url}/`);
  });

  it('is not there without a provider', async () => {
    const plain = await startTestAdmin(admin.databaseUrl);
    try {
      expect((await plain.anonymous('/session/provider')).status).toBe(404);
    } finally {
      await plain.stop();
    }
  });
});
