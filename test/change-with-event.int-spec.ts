import type { ClientBase } from 'pg';
import { appendWith } from '../src/log/append-in-transaction.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { LeftSecrets0000000000049 } from '../src/postgres/migrations/0049-left-secrets.js';
import { RemovedWebhooks0000000000051 } from '../src/postgres/migrations/0051-removed-webhooks.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { PasswordHasher } from '../src/users/password.js';
import { type CreatedToken, TokensService } from '../src/users/tokens.service.js';
import { tokenDocument } from '../src/users/user-document.js';
import { UsersService } from '../src/users/users.service.js';
import { type AdminClient, PASSWORD, startTestAdmin, type TestAdmin } from './support/admin.js';
import { createDatabase } from './support/databases.js';

const SITE = 'changes.example';
const META = { pixel_id: '123456789012345', access_token: 'a-very-secret-token' };

let admin: TestAdmin;
let boss: AdminClient;

beforeAll(async () => {
  admin = await startTestAdmin(await createDatabase());
  boss = await admin.signedIn('admin');
  await boss('/sites', { method: 'POST', body: { host: SITE } });
});
afterAll(async () => {
  await admin?.stop();
});

/** Connections that are lost at the commit: the server has carried it out, or never got it. With `isGone` there is none afterwards. */
function losing(when: 'before' | 'after', isGone = false): Postgres {
  const { pool, clock } = admin.postgres;
  let isLost = false;
  const connect = async () => {
    if (isLost && isGone) throw new Error('timeout exceeded when trying to connect');
    const client = await pool.connect();
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    const losingQuery = async (...args: unknown[]) => {
      if (args[0] !== 'COMMIT' || isLost) return query(...args);
      isLost = true;
      if (when === 'after') await query('COMMIT');
      (client as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
      throw new Error('Connection terminated unexpectedly');
    };
    return Object.assign(Object.create(client), {
      query: losingQuery,
      release: (error?: boolean) => client.release(error),
    });
  };
  return { pool: { connect }, clock } as unknown as Postgres;
}

describe('an event that is stored together with a change', () => {
  const stored = async () => {
    const { rows } = await admin.postgres.pool.query(`SELECT name FROM cc.secrets WHERE site = 'lost.example'`);
    return rows.map(({ name }) => name);
  };
  const appended = async (when: 'before' | 'after', stream: string) => {
    const events = [{ type: 'site.inbound_enabled.v1', data: {} }] as const;
    const request = { category: 'site', stream, expected: 0, site: 'lost.example', actor: 'system', events } as const;
    const change = async (client: ClientBase) => {
      await client.query(`INSERT INTO cc.secrets (site, name, sealed) VALUES ('lost.example', $1, '')`, [when]);
    };
    return appendWith(losing(when), request, change);
  };

  it('is found in the log if only the answer to its commit was lost', async () => {
    const stream = '01980000-0000-7000-8000-000000000001';
    const outcome = await appended('after', stream);
    const log = new PostgresEventLog(admin.postgres);
    const [event] = await log.readStream('site', stream);
    expect(outcome).toEqual({ status: 'appended', position: event?.position, time: event?.time });
    expect(await stored()).toEqual(['after']);
    await log.close();
  });

  it('fails if its commit was lost, and neither is stored', async () => {
    const stream = '01980000-0000-7000-8000-000000000002';
    await expect(appended('before', stream)).rejects.toThrow('Connection terminated');
    const { rows } = await admin.postgres.pool.query('SELECT FROM cc.events WHERE stream = $1', [stream]);
    expect(rows).toEqual([]);
    expect(await stored()).not.toContain('before');
  });
});

describe('a secret that is shown once', () => {
  const token = { name: 'CI', scopes: ['read'], sites: null } as const;
  const tokensOf = async (owner: string) =>
    (await new TokensService(admin.postgres).list(owner)).map(({ name }) => name);

  it('is shown if only the answer to its commit was lost, and works', async () => {
    const { id } = await admin.addUser('operator');
    const created = (await new TokensService(losing('after')).create(
      await admin.openSession(id),
      token,
    )) as CreatedToken;
    expect(tokenDocument(created.row)).toMatchObject({ ownerId: id, name: 'CI', revoked: false });
    const call = admin.withHeaders({ authorization: `Bearer ${created.token}` });
    expect((await call('/session')).body.id).toBe(id);
    const { secret: link } = await new UsersService(losing('after'), new PasswordHasher()).reset(id);
    const chosen = await admin.anonymous('/session/password', { method: 'POST', body: { link, password: PASSWORD } });
    expect(chosen.status).toBe(200);
  });

  it('is not stored if its commit was lost, and the error is that of the commit', async () => {
    const { id } = await admin.addUser('operator');
    const caller = await admin.openSession(id);
    await expect(new TokensService(losing('before')).create(caller, token)).rejects.toThrow('Connection terminated');
    expect(await tokensOf(id)).toEqual([]);
  });

  it.each(['before', 'after'] as const)(
    'is said to be stored perhaps if the log cannot be asked, with the error of the commit (lost %s it)',
    async (when) => {
      const { id } = await admin.addUser('operator');
      const created = new TokensService(losing(when, true)).create(await admin.openSession(id), token);
      await expect(created).rejects.toMatchObject({
        name: 'CommitUnknown',
        message: expect.stringMatching(/may have been carried out: Connection terminated unexpectedly$/),
      });
      expect(await tokensOf(id)).toEqual(when === 'after' ? ['CI'] : []);
    },
  );
});

describe('secrets that an interrupted disconnection of an earlier version has left', () => {
  it('are deleted by the upgrade, and no others', async () => {
    const connections = ['meta', 'meta:second', 'meta:again'];
    const path = (connection: string) => `/sites/${SITE}/connections/${connection}`;
    for (const connection of connections) await boss(path(connection), { method: 'PUT', body: { settings: META } });
    const read = async () => {
      const { rows } = await admin.postgres.pool.query('SELECT site, name, sealed FROM cc.secrets ORDER BY site, name');
      return rows as { site: string; name: string; sealed: Buffer }[];
    };
    const before = await read();
    for (const connection of ['meta', 'meta:again']) await boss(path(connection), { method: 'DELETE' });
    await boss(path('meta:again'), { method: 'PUT', body: { settings: META } });
    const after = await read();
    const left = before.filter(({ name }) => name === 'meta.access_token');
    expect([left.length, after.some(({ name }) => name === 'meta.access_token')]).toEqual([1, false]);
    for (const { site, name, sealed } of left)
      await admin.postgres.pool.query('INSERT INTO cc.secrets (site, name, sealed) VALUES ($1, $2, $3)', [
        ...[site, name, sealed],
      ]);
    const runner = { query: (text: string) => admin.postgres.pool.query(text) };
    await new LeftSecrets0000000000049().up(runner as never);
    expect(await read()).toEqual(after);
    expect(after.filter(({ site }) => site === SITE).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['meta:again.access_token', 'meta:second.access_token']),
    );
  });
});

describe('the webhook secrets of a removed site', () => {
  const secretsOf = async (site: string) => {
    const { rows } = await admin.postgres.pool.query('SELECT name, sealed FROM cc.secrets WHERE site = $1', [site]);
    return rows as { name: string; sealed: Buffer }[];
  };
  const add = async (host: string) => {
    await boss('/sites', { method: 'POST', body: { host } });
    const body = { url: `https://hooks.${host}/a-secret-path-4f7d1a9c0b2e` };
    expect((await boss(`/sites/${host}/webhook`, { method: 'PUT', body })).status).toBe(200);
  };

  it('are deleted with the site; the upgrade deletes those that earlier versions have left, and no others', async () => {
    const [gone, again, kept] = ['gone.example', 'again.example', 'kept.example'];
    for (const host of [gone, again, kept]) await add(host);
    const before = await secretsOf(gone);
    expect(before.map(({ name }) => name)).toEqual(expect.arrayContaining(['dedup', 'outbound.secret']));
    for (const host of [gone, again])
      expect((await boss(`/sites/${host}`, { method: 'DELETE' })).status).toBeLessThan(300);
    expect((await secretsOf(gone)).map(({ name }) => name)).toEqual(['dedup']);
    await add(again);
    for (const { name, sealed } of before.filter((secret) => secret.name !== 'dedup'))
      await admin.postgres.pool.query('INSERT INTO cc.secrets VALUES ($1, $2, $3)', [gone, name, sealed]);
    const others = [await secretsOf(again), await secretsOf(kept)];
    await new RemovedWebhooks0000000000051().up({ query: (text: string) => admin.postgres.pool.query(text) } as never);
    expect((await secretsOf(gone)).map(({ name }) => name)).toEqual(['dedup']);
    expect([await secretsOf(again), await secretsOf(kept)]).toEqual(others);
    expect(others[0]?.map(({ name }) => name)).toContain('outbound.secret');
  });
});
