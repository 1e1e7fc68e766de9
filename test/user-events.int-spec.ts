import { jest } from '@jest/globals';
import { checkData } from '../src/events/check-data.js';
import { FirstAdministrator } from '../src/users/first-administrator.js';
import { PasswordHasher } from '../src/users/password.js';
import { type CreatedToken, TokensService } from '../src/users/tokens.service.js';
import { PASSWORD, startTestAdmin, useAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';

interface AuditEvent {
  readonly type: string;
  readonly stream: string;
  readonly actor: string;
  readonly data: Record<string, unknown>;
  readonly actorName?: string;
  readonly subjectName?: string;
}

const TOKEN = { name: 'CI', scopes: ['read'], sites: null } as const;

const admin = await useAdmin();

describe('events about users and tokens', () => {
  afterEach(() => jest.restoreAllMocks());

  it('say who added, changed and reset a user and its tokens, without a name or an email address', async () => {
    const administrator = await admin.signedIn('admin');
    const caller = `user:${(await administrator('/session')).body.id}`;
    const user = { email: 'maria@shop.example', name: 'Maria', role: 'analyst', sites: ['shop.example'] };
    const { id } = (await administrator.post('/users', user)).body.user;
    const change = (body: object) => administrator.patch(`/users/${id}`, body);
    await change({ role: 'operator', sites: null, name: 'Lady Maria' });
    await change({ name: 'Maria', role: 'operator' });
    await change({ disabled: true });
    await change({ disabled: false });
    const token = { name: 'Export of Maria', scopes: ['read'], sites: ['shop.example'], expiresInDays: 30 };
    const created = (await administrator.post('/tokens', token)).body;
    for (const _ of [1, 2]) await administrator.delete(`/tokens/${created.id}`);

    const { items } = (await administrator('/audit')).body as { items: AuditEvent[] };
    const { expiresAt } = created;
    const tokenData = { tokenId: created.id, scopes: ['read'], sites: ['shop.example'], expiresAt };
    const expected = [
      ['user.added.v1', id, { role: 'analyst', sites: ['shop.example'] }],
      ['user.reset.v1', id, {}],
      ['user.renamed.v1', id, {}],
      ['user.changed.v1', id, { role: 'operator', sites: null }],
      ['user.renamed.v1', id, {}],
      ['user.disabled.v1', id, {}],
      ['user.enabled.v1', id, {}],
      ['user.token_created.v1', caller.slice('user:'.length), tokenData],
      ['user.token_revoked.v1', caller.slice('user:'.length), { tokenId: created.id }],
    ].map(([type, stream, data]) => ({ type, stream: `user-${stream}`, actor: caller, data }));
    expect(items.slice(0, expected.length).reverse()).toMatchObject(expected);
    const names = { actorName: (await administrator('/session')).body.name, subjectName: 'Maria' };
    expect(items[expected.length - 1]).toMatchObject({ type: 'user.added.v1', ...names });
    const stored = await admin.log.read({ categories: ['user'] });
    expect(JSON.stringify(stored)).not.toMatch(/maria|example@|team\.example/i);
    for (const { type, data } of stored) expect(checkData(type, data)).toBeUndefined();
    const operator = await admin.signedIn('operator');
    expect((await operator('/audit')).status).toBe(403);
  });

  it('are stored together with the change, or neither is', async () => {
    const { id } = await admin.addUser('operator');
    const tokens = new TokensService(admin.postgres);
    const caller = await admin.openSession(id);
    const { row } = (await tokens.create(caller, TOKEN)) as CreatedToken;
    const state = async () => [await admin.users.list(), await tokens.list()];
    const before = await state();
    jest.spyOn(admin.postgres.clock, 'refusal').mockReturnValue('the clock jumped');
    await expect(admin.addUser('analyst')).rejects.toThrow('the clock jumped');
    await expect(admin.users.change(id, { role: 'analyst' })).rejects.toThrow('the clock jumped');
    await expect(admin.users.reset(id)).rejects.toThrow('the clock jumped');
    await expect(tokens.create(caller, TOKEN)).rejects.toThrow('the clock jumped');
    await expect(tokens.revoke(row.id, undefined, 'system')).rejects.toThrow('the clock jumped');
    expect(await state()).toEqual(before);
  });

  it('say which tokens a reset has revoked; others stay valid, and the answer counts them', async () => {
    const administrator = await admin.signedIn('admin');
    const { id } = await admin.addUser('operator');
    const tokens = new TokensService(admin.postgres);
    const caller = await admin.openSession(id);
    const create = async (expiresInDays?: number) =>
      (await tokens.create(caller, { ...TOKEN, expiresInDays })) as CreatedToken;
    const [valid, other, revoked, expired] = [await create(), await create(30), await create(), await create(1)];
    await tokens.revoke(revoked.row.id, undefined, 'system');
    await admin.postgres.pool.query(`UPDATE api_tokens SET expires_at = now() - interval '1 ms' WHERE id = $1`, [
      expired.row.id,
    ]);
    const call = admin.withHeaders({ authorization: `Bearer ${valid.token}` });
    const reset = (body?: object) => administrator(`/users/${id}/reset`, { method: 'POST', ...(body && { body }) });
    expect((await reset()).body).toMatchObject({ user: { id }, validTokens: 2 });
    expect((await call('/session')).status).toBe(200);
    expect((await reset({ revokeTokens: true })).body).toMatchObject({ user: { id }, validTokens: 0 });
    expect((await call('/session')).status).toBe(401);
    const { items } = (await administrator('/audit?limit=3')).body as { items: AuditEvent[] };
    expect(items[2]).toMatchObject({ type: 'user.reset.v1', stream: `user-${id}` });
    const named = items.slice(0, 2).map(({ type, data }) => [type, data['tokenId']]);
    const expected = [valid, other].map(({ row }) => ['user.token_revoked.v1', row.id]);
    expect(named.sort()).toEqual(expected.sort());
  });

  it('name the first administrator as its own creator', async () => {
    const other = await startTestAdmin(await createDatabase());
    try {
      const first = new FirstAdministrator(other.postgres, new PasswordHasher({ N: 1_024, r: 8, p: 1 }));
      const user = await first.useLink((await first.createLink()) as string, 'maria@shop.example', PASSWORD);
      const [event] = await other.log.read({ categories: ['user'] });
      expect(event).toMatchObject({ type: 'user.added.v1', actor: `user:${user?.id}`, data: { role: 'admin' } });
    } finally {
      await other.stop();
    }
  });
});
