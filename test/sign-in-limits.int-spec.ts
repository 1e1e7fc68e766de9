import { byNetwork, SignInThrottle } from '../src/users/sign-in-throttle.js';
import { type AdminReply, PASSWORD, useAdmin } from './support/admin.js';

const WRONG = 'wrong horse battery staple';

const admin = await useAdmin({ TRUSTED_PROXIES: '127.0.0.1,::1' });

function signIn(email: string, password: string, headers: Record<string, string>): Promise<AdminReply> {
  return admin.anonymous.post('/session', { email, password }, headers);
}

/** All cookies that an answer sets, as a browser sends them. */
function browserOf({ headers }: AdminReply): string {
  return [headers['set-cookie'] ?? []]
    .flat()
    .map((line) => line.split(';')[0])
    .join('; ');
}

/** As 20 networks do that guess ten passwords each. */
async function guessFromManyNetworks(email: string): Promise<void> {
  // By the table: 200 passwords at full cost take a minute.
  const throttle = new SignInThrottle(admin.postgres);
  for (let network = 1; network <= 20; network += 1)
    for (let count = 0; count < 10; count += 1)
      expect(await throttle.admit(byNetwork(email, `203.0.113.${network}`))).toBe(0);
}

describe('after guesses from many networks', () => {
  it('an unknown browser is told when to try again, and the browser of the owner signs in', async () => {
    const { email, reply: first } = await admin.signUp('admin');
    await guessFromManyNetworks(email);
    const stranger = await signIn(email, PASSWORD, { 'x-forwarded-for': '198.51.100.1' });
    expect(stranger.status).toBe(429);
    const seconds = Number(stranger.headers['retry-after']);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThanOrEqual(900);
    const owner = await signIn(email, PASSWORD, { 'x-forwarded-for': '198.51.100.2', cookie: browserOf(first) });
    expect(owner.status).toBe(200);
  });

  it('a session changes its password', async () => {
    const { email, reply: first } = await admin.signUp('admin');
    await guessFromManyNetworks(email);
    const session = admin.withSession(first);
    const body = { current: PASSWORD, password: 'another horse battery staple' };
    const changed = await session.put('/session/password', body);
    expect(changed.status).toBe(204);
    // The browser is known by the new password from then on, and no longer by the old one.
    const again = { 'x-forwarded-for': '198.51.100.3' };
    expect((await signIn(email, body.password, { ...again, cookie: browserOf(first) })).status).toBe(429);
    expect((await signIn(email, body.password, { ...again, cookie: browserOf(changed) })).status).toBe(200);
  });
});

describe('a known browser', () => {
  it('is not known for another account', async () => {
    const [one, other] = [await admin.signUp('admin'), await admin.signUp('admin')];
    const headers = { 'x-forwarded-for': '198.51.100.4', cookie: browserOf(one.reply) };
    await guessFromManyNetworks(other.email);
    expect((await signIn(other.email, PASSWORD, headers)).status).toBe(429);
  });
});

describe('many guesses at once from many IPv6 networks of one owner', () => {
  it('keep neither a known browser nor a session out, and others are told when to try again', async () => {
    const { email, reply: first } = await admin.signUp('admin');
    const session = admin.withSession(first);
    const guesses = Array.from({ length: 60 }, (_, index) =>
      signIn(email, WRONG, { 'x-forwarded-for': `2001:db8:0:${index}::1` }),
    );
    const known = signIn(email, PASSWORD, { 'x-forwarded-for': '2001:db8:0:1::2', cookie: browserOf(first) });
    const body = { current: PASSWORD, password: 'another horse battery staple' };
    expect((await known).status).toBe(200);
    expect((await session.put('/session/password', body)).status).toBe(204);
    const answers = await Promise.all(guesses);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    for (const { status, headers } of answers)
      if (status === 429) expect(Number(headers['retry-after'])).toBeGreaterThan(0);
  });

  it('are one network if their first 64 bits are the same', async () => {
    const { email } = await admin.signUp('admin');
    const throttle = new SignInThrottle(admin.postgres);
    const admit = (host: number) => throttle.admit(byNetwork(email, `2001:db8:1:1:${host}::1`));
    for (let count = 0; count < 10; count += 1) expect(await admit(count)).toBe(0);
    expect(await admit(10)).toBeGreaterThan(0);
    // The same address in another form.
    expect(await throttle.admit(byNetwork(email, '2001:0DB8:0001:0001::1'))).toBeGreaterThan(0);
    expect(await throttle.admit(byNetwork(email, '2001:db8:1:2::1'))).toBe(0);
  });
});

describe('many guesses at once from one network', () => {
  it('do not keep others out, and are told when to try again', async () => {
    const [attacked, { email, reply: first }] = [await admin.signUp('admin'), await admin.signUp('admin')];
    const guesses = Array.from({ length: 40 }, (_, index) =>
      signIn(`${index}${attacked.email}`, WRONG, { 'x-forwarded-for': '192.0.2.1' }),
    );
    const unknown = signIn(email, PASSWORD, { 'x-forwarded-for': '198.51.100.5' });
    const known = signIn(email, PASSWORD, { 'x-forwarded-for': '192.0.2.1', cookie: browserOf(first) });
    expect([(await unknown).status, (await known).status]).toEqual([200, 200]);
    const answers = await Promise.all(guesses);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.map(({ headers }) => headers['retry-after'])).toEqual(refused.map(() => '5'));
    // A password that was not checked is no attempt.
    const { rows } = await admin.postgres.pool.query('SELECT FROM cc.sign_in_attempts WHERE key = $1', [
      byNetwork('', '192.0.2.1')[1]?.key,
    ]);
    expect(rows).toHaveLength(40 - refused.length);
  });
});
