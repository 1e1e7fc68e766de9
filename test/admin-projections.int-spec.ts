import { rebuildLock } from '../src/log/projections/projection-rebuild.js';
import { useAdmin } from './support/admin.js';
import { eventually } from './support/waiting.js';

const admin = await useAdmin();
const operator = await admin.signedIn('operator');
await operator.post('/sites', { host: 'rebuilt.example' });

const rebuild = (name: string) => operator.post(`/projections/${name}/rebuild`);
const projection = async (name: string) => {
  const { body } = await operator('/projections');
  return body.items.find((item: { name: string }) => item.name === name);
};
const settled = (name: string) =>
  eventually(
    () => projection(name),
    ({ state }) => state !== 'rebuilding',
  );

describe('projections in the management API', () => {
  it('are rebuilt in the background, from what the log contains', async () => {
    await settled('sites');
    await admin.postgres.pool.query(`UPDATE cc.sites SET host = 'wrong.example'`);
    const started = await rebuild('sites');
    expect(started).toMatchObject({ status: 202, body: { name: 'sites', state: 'rebuilding' } });
    const { rebuild: left, state } = await settled('sites');
    expect([state, left]).toEqual(['running', undefined]);
    const { rows } = await admin.postgres.pool.query('SELECT host FROM cc.sites');
    expect(rows).toEqual([{ host: 'rebuilt.example' }]);
  });

  it('that were parked run again after a rebuild', async () => {
    await settled('match_rate');
    await admin.postgres.pool.query(
      `UPDATE cc.projections SET parked = true, reason = 'a bad event' WHERE name = 'match_rate'`,
    );
    expect(await projection('match_rate')).toMatchObject({ state: 'parked', reason: 'a bad event' });
    expect((await rebuild('match_rate')).status).toBe(202);
    const after = await settled('match_rate');
    expect([after.state, after.reason]).toEqual(['running', undefined]);
  });

  it('are not rebuilt twice at a time', async () => {
    const client = await admin.postgres.pool.connect();
    try {
      await client.query('SELECT pg_advisory_lock($1, hashtext($2))', [rebuildLock.classId, 'sites']);
      expect(await rebuild('sites')).toMatchObject({
        status: 409,
        body: { detail: 'sites is being rebuilt. Wait until that rebuild has finished.' },
      });
    } finally {
      client.release(true);
    }
  });

  it('say why a rebuild ended, and can be rebuilt again', async () => {
    await settled('sites');
    const owner = await admin.postgres.connectAsOwner('test');
    await owner.query('ALTER TABLE cc.sites RENAME TO sites_away');
    expect((await rebuild('sites')).status).toBe(202);
    const failed = await settled('sites');
    expect(failed.rebuild).toMatchObject({ position: 0, error: expect.stringContaining('cc.sites') });
    await owner.query('ALTER TABLE cc.sites_away RENAME TO sites');
    expect((await rebuild('sites')).status).toBe(202);
    expect((await settled('sites')).rebuild).toBeUndefined();
    await owner.end();
  });

  it('are rebuilt by operators of all sites only, and only known ones', async () => {
    expect((await rebuild('unknown')).status).toBe(404);
    const some = await admin.signedIn('operator', ['rebuilt.example']);
    expect((await some.post('/projections/sites/rebuild')).status).toBe(403);
  });
});
