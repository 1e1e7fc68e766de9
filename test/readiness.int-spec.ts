import { startTestServer } from './support/postgres-server.js';
import { post, send, useService } from './support/service.js';
import { eventually } from './support/waiting.js';

const PURCHASE = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR' };

/** A server of the spec's own: its configuration changes. */
const server = await startTestServer();
const { operator, service, openSite } = await useService({}, { server });
const owner = await operator.postgres.connectAsOwner('test');
const site = await openSite();
let orders = 0;
afterAll(async () => {
  await owner.end();
  await server.stop();
});

describe('/readyz of a database that stores no conversion', () => {
  const readiness = async () => {
    const { status, body } = await send(service, { path: '/readyz' });
    return { status, reason: JSON.parse(body).log.reason as string | undefined };
  };
  const postOrder = async () => {
    orders += 1;
    return (await post(service, site, { ...PURCHASE, orderId: `ORD-${orders}` })).status;
  };
  const untilReady = () => eventually(readiness, { status: 200 });
  const untilUnready = () => eventually(readiness, { status: 503 });

  it('is 503 on a read-only database before any conversion was refused, and recovers without one', async () => {
    await owner.query('ALTER SYSTEM SET default_transaction_read_only = on');
    await owner.query('SELECT pg_reload_conf()');
    expect(await untilUnready()).toEqual({
      status: 503,
      reason: 'the database is read-only (default_transaction_read_only)',
    });
    await owner.query('SET default_transaction_read_only = off');
    await owner.query('ALTER SYSTEM RESET default_transaction_read_only');
    await owner.query('SELECT pg_reload_conf()');
    await untilReady();
    expect(await postOrder()).toBe(200);
  });

  it('is 503 when the privilege to insert events was revoked', async () => {
    await owner.query('REVOKE INSERT ON cc.events FROM cc_service');
    expect(await readiness()).toEqual({ status: 503, reason: 'the role cc_service may not insert into cc.events' });
    await owner.query('GRANT INSERT ON cc.events TO cc_service');
    await untilReady();
    expect(await postOrder()).toBe(200);
  });

  it('stays 503 after a full disk refused a conversion, until a trial append would be stored', async () => {
    await owner.query(`
      CREATE FUNCTION cc.no_space() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
      END $$;
      CREATE TRIGGER no_space BEFORE INSERT ON cc.seals EXECUTE FUNCTION cc.no_space()`);
    expect(await postOrder()).toBe(503);
    const full = { status: 503, reason: expect.stringContaining('No space left on device') };
    expect(await readiness()).toEqual(full);
    const before = await operator.log.head();
    await owner.query('DROP TRIGGER no_space ON cc.seals; DROP FUNCTION cc.no_space()');
    await untilReady();
    // The trial that showed it was rolled back.
    expect(await operator.log.head()).toBe(before);
    expect(await postOrder()).toBe(200);
  });
});
