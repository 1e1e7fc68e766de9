import { usersCheck } from '../src/history/reconciliation/users.check.js';
import type { Finding, VerifyDependencies } from '../src/history/verify.js';
import { type CreatedToken, TokensService } from '../src/users/tokens.service.js';
import { type AdminClient, PASSWORD, startTestAdmin, type TestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';

let admin: TestAdmin;

beforeAll(async () => {
  admin = await startTestAdmin(await createDatabase());
});
afterAll(() => admin?.stop());

function examine(): Promise<Finding> {
  return usersCheck.examine({ postgres: admin.postgres } as VerifyDependencies);
}

describe('history verify: users', () => {
  it('passes after everything that users do', async () => {
    const boss = await admin.signedIn('admin');
    const operator = await admin.signedIn('operator', ['shop.example']);
    const { id } = (await operator('/session')).body;
    const body = { name: 'CI', scopes: ['read'], expiresInDays: 30 };
    const token = (await operator('/tokens', { method: 'POST', body })).body;
    await operator('/tokens', { method: 'POST', body: { name: 'Kept', scopes: ['write'] } });
    await operator(`/tokens/${token.id}`, { method: 'DELETE' });
    await boss(`/users/${id}`, { method: 'PATCH', body: { role: 'analyst', sites: [] } });
    await signInTwice(operator);
    const another = 'another horse battery staple';
    await operator('/session/password', { method: 'PUT', body: { current: PASSWORD, password: another } });
    await admin.anonymous('/session', { method: 'POST', body: { email: await emailOf(operator), password: another } });
    await operator('/sessions/others', { method: 'DELETE' });
    const disabled = await admin.addUser('analyst');
    await admin.openSession(disabled.id);
    await boss(`/users/${disabled.id}`, { method: 'PATCH', body: { disabled: true } });
    const reset = await admin.addUser('analyst');
    await admin.openSession(reset.id);
    await boss(`/users/${reset.id}/reset`, { method: 'POST', body: { revokeTokens: true } });
    expect(await examine()).toEqual({ ok: true, detail: '4 users, 2 sessions, 2 tokens' });
  });

  it.each([
    ['a promoted user', `UPDATE cc.users SET role = 'admin' WHERE id = $1`, /user \S+ has another role than its/],
    ['added sites', 'UPDATE cc.users SET sites = NULL WHERE id = $1', /has another sites than/],
    ['an enabled user', 'UPDATE cc.users SET disabled_at = NULL WHERE id = $1', /has another disabled than/],
    ['a planted password', `UPDATE cc.users SET password_hash = 'x' WHERE id = $1`, /has another password than/],
    [
      'a planted user',
      `INSERT INTO cc.users (id, email, name, role) SELECT gen_random_uuid(), 'x' || $1, 'x', 'admin'`,
      /user \S+ was not added by an event/,
    ],
    [
      'a planted session',
      `INSERT INTO cc.user_sessions (hash, user_id, expires_at) SELECT 'x', $1, now() + interval '1 hour'`,
      /a session of user \S+ was not opened by an event/,
    ],
    [
      'a longer session',
      `UPDATE cc.user_sessions SET expires_at = now() + interval '1 year' WHERE user_id = $1`,
      /a session of user \S+ is valid for longer/,
    ],
    [
      'a planted token',
      `INSERT INTO cc.api_tokens (id, owner_id, name, prefix, hash, scopes) SELECT gen_random_uuid(), $1, 'x', 'x', 'x', '{read}'`,
      /token \S+ was not added by an event/,
    ],
    ['a replaced token', `UPDATE cc.api_tokens SET hash = 'y' WHERE owner_id = $1`, /token \S+ has another digest/],
    ['a token of another scope', `UPDATE cc.api_tokens SET scopes = '{move}' WHERE owner_id = $1`, /another scopes/],
    ['a token without an end', 'UPDATE cc.api_tokens SET expires_at = NULL WHERE owner_id = $1', /another expiresAt/],
    ['a revived token', 'UPDATE cc.api_tokens SET revoked_at = NULL WHERE owner_id = $1', /another revoked than/],
    ['a deleted token', 'DELETE FROM cc.api_tokens WHERE owner_id = $1', /token \S+ is missing/],
  ])('finds %s', async (_, change, says) => {
    const { id } = await admin.addUser('analyst', ['shop.example']);
    const caller = await admin.openSession(id);
    const tokens = new TokensService(admin.postgres);
    const token = { name: 'CI', scopes: ['read'], sites: null, expiresInDays: 1 } as const;
    const { row } = (await tokens.create(caller, token)) as CreatedToken;
    await tokens.revoke(row.id, undefined, 'system');
    if (change.includes('disabled_at')) await admin.users.change(id, { disabled: true });
    const before = await copyOf();
    await admin.postgres.pool.query(change, [id]);
    expect(await examine()).toMatchObject({ ok: false, detail: expect.stringMatching(says) });
    await restore(before);
    expect(await examine()).toMatchObject({ ok: true });
  });
});

const TABLES = ['users', 'user_sessions', 'api_tokens'] as const;

async function copyOf(): Promise<string[]> {
  const texts: string[] = [];
  for (const table of TABLES) {
    const { rows } = await admin.postgres.pool.query(
      `SELECT coalesce(json_agg(t), '[]')::text AS rows FROM cc.${table} t`,
    );
    texts.push(rows[0].rows);
  }
  return texts;
}

async function restore(texts: readonly string[]): Promise<void> {
  const { pool } = admin.postgres;
  for (const table of TABLES.toReversed()) await pool.query(`DELETE FROM cc.${table}`);
  for (const [index, table] of TABLES.entries())
    await pool.query(`INSERT INTO cc.${table} SELECT * FROM json_populate_recordset(NULL::cc.${table}, $1)`, [
      texts[index],
    ]);
}

async function emailOf(user: AdminClient): Promise<string> {
  return (await user('/session')).body.email;
}

async function signInTwice(user: AdminClient): Promise<void> {
  const email = await emailOf(user);
  for (const _ of [1, 2]) await admin.anonymous('/session', { method: 'POST', body: { email, password: PASSWORD } });
}
