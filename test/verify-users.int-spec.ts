import { hash } from 'node:crypto';
import { USER } from '../src/events/user.events.js';
import { usersCheck } from '../src/history/reconciliation/users.check.js';
import type { Finding } from '../src/history/reconciliation/violations.js';
import type { VerifyDependencies } from '../src/history/verify.js';
import { readStream } from '../src/log/event-reader.js';
import { ExternalUsersService } from '../src/users/external-users.service.js';
import { type CreatedToken, TokensService } from '../src/users/tokens.service.js';
import { type AdminClient, PASSWORD, useAdmin } from './support/admin.js';

const admin = await useAdmin();

function examine(): Promise<Finding> {
  return usersCheck.examine({ postgres: admin.postgres } as VerifyDependencies);
}

describe('history verify: users', () => {
  it('passes after everything that users do', async () => {
    const boss = await admin.signedIn('admin');
    const operator = await admin.signedIn('operator', ['shop.example']);
    const { id } = (await operator('/session')).body;
    const body = { name: 'CI', scopes: ['read'], expiresInDays: 30 };
    const token = (await operator.post('/tokens', body)).body;
    await operator.post('/tokens', { name: 'Kept', scopes: ['write'] });
    await operator.delete(`/tokens/${token.id}`);
    await boss.patch(`/users/${id}`, { role: 'analyst', sites: [] });
    await signInTwice(operator);
    const another = 'another horse battery staple';
    await operator.put('/session/password', { current: PASSWORD, password: another });
    await admin.anonymous.post('/session', { email: await emailOf(operator), password: another });
    await operator.delete('/sessions/others');
    const disabled = await admin.addUser('analyst');
    await admin.openSession(disabled.id);
    await boss.patch(`/users/${disabled.id}`, { disabled: true });
    const reset = await admin.addUser('analyst');
    await admin.openSession(reset.id);
    await boss.post(`/users/${reset.id}/reset`, { revokeTokens: true });
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
    [
      'a planted account of the sign-in provider',
      `UPDATE cc.users SET identity = sha256('x') WHERE id = $1`,
      /user \S+ has another identity than/,
    ],
    [
      'a planted link',
      `INSERT INTO cc.sign_in_links (hash, user_id, expires_at) SELECT 'x', $1, now() + interval '1 day'`,
      /a sign-in link of user \S+ was not created by an event/,
    ],
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

  it('finds a session that was signed out and is there again', async () => {
    const user = await admin.signedIn('analyst');
    const before = await copyOf();
    await user.delete('/session');
    expect(await examine()).toMatchObject({ ok: true });
    await restore(before);
    expect(await examine()).toMatchObject({ ok: false, detail: expect.stringMatching(/or has ended/) });
    await user.delete('/session');
    expect(await examine()).toMatchObject({ ok: true });
  });

  it('finds another account of the sign-in provider in place of the one that was linked', async () => {
    const { id, email } = await admin.addUser('analyst');
    const people = new ExternalUsersService(admin.postgres, admin.users);
    const claims = { issuer: 'https://provider.example', name: undefined, email } as const;
    const linked = await people.findOrAdd({ ...claims, subject: 'ada', role: undefined });
    expect(linked?.id).toBe(id);
    const added = await people.findOrAdd({ ...claims, subject: 'bob', email: 'bob@team.example', role: 'analyst' });
    expect(await examine()).toMatchObject({ ok: true });
    const before = await copyOf();
    for (const user of [id, added?.id]) {
      await admin.postgres.pool.query(`UPDATE cc.users SET identity = sha256('x') WHERE id = $1`, [user]);
      const detail = expect.stringMatching(`user ${user} has another identity than its events say`);
      expect(await examine()).toMatchObject({ ok: false, detail });
      await restore(before);
    }
    // The events do not tell whose accounts they are.
    const { rows } = await admin.postgres.pool.query(
      `SELECT encode(identity, 'hex') AS digest FROM cc.users WHERE id = $1`,
      [id],
    );
    const events = await readStream(admin.postgres.pool, USER, id);
    expect(JSON.stringify(events)).not.toContain(rows[0].digest);
    expect(JSON.stringify(events)).not.toContain(hash('sha256', Buffer.from(rows[0].digest, 'hex')));
  });

  it('finds a password that was chosen with a planted link', async () => {
    const { id } = await admin.addUser('analyst');
    await admin.postgres.pool.query(
      `INSERT INTO cc.sign_in_links (hash, user_id, expires_at) SELECT sha256('planted'), $1, now() + interval '1 day'`,
      [id],
    );
    await admin.users.choosePassword('planted', PASSWORD);
    const detail = expect.stringMatching(`user ${id} chose a password with a link that was not created by an event`);
    expect(await examine()).toMatchObject({ ok: false, detail });
  });
});

const TABLES = ['users', 'user_sessions', 'api_tokens', 'sign_in_links'] as const;

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
  for (const _ of [1, 2]) await admin.anonymous.post('/session', { email, password: PASSWORD });
}
