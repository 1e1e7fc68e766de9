import type { ClientBase } from 'pg';
import { appendWith } from '../src/log/append/append-in-transaction.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { PasswordHasher } from '../src/users/password.js';
import { type CreatedToken, TokensService } from '../src/users/tokens.service.js';
import { tokenDocument } from '../src/users/user-document.js';
import { UsersService } from '../src/users/users.service.js';
import { PASSWORD, useAdmin } from './support/admin.js';

const admin = await useAdmin();
const boss = await admin.signedIn('admin');

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
    const [event] = await admin.log.readStream('site', stream);
    expect(outcome).toEqual({ status: 'appended', position: event?.position, time: event?.time });
    expect(await stored()).toEqual(['after']);
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
    const chosen = await admin.anonymous.post('/session/password', { link, password: PASSWORD });
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

describe('the webhook secrets of a removed site', () => {
  const secretsOf = async (site: string) => {
    const { rows } = await admin.postgres.pool.query('SELECT name, sealed FROM cc.secrets WHERE site = $1', [site]);
    return rows as { name: string; sealed: Buffer }[];
  };
  const add = async (host: string) => {
    await boss.post('/sites', { host });
    const body = { url: `https://hooks.${host}/a-secret-path-4f7d1a9c0b2e` };
    expect((await boss.put(`/sites/${host}/webhook`, body)).status).toBe(200);
  };

  it('are deleted with the site, and no others', async () => {
    const [gone, kept] = ['gone.example', 'kept.example'];
    for (const host of [gone, kept]) await add(host);
    const before = await secretsOf(kept);
    expect((await secretsOf(gone)).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['dedup', 'outbound.secret']),
    );
    expect((await boss.delete(`/sites/${gone}`)).status).toBeLessThan(300);
    expect((await secretsOf(gone)).map(({ name }) => name)).toEqual(['dedup']);
    expect(await secretsOf(kept)).toEqual(before);
  });
});
