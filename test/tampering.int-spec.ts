import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { Checkpoints } from '../src/checkpoints/checkpoints.js';
import { removalSigner } from '../src/checkpoints/signed-removal.js';
import { SigningKeys } from '../src/checkpoints/signing-keys.js';
import { readTrust } from '../src/cli/history/history-checkpoint.js';
import { allEventChecks } from '../src/history/checks.js';
import { checkpointsCheck } from '../src/history/reconciliation/checkpoints.check.js';
import { orderCheck } from '../src/history/reconciliation/order.check.js';
import { type VerifyDependencies, verify as verifyAll } from '../src/history/verify.js';
import { keyIdOf, signJws } from '../src/kernel/jws.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import type { Removal } from '../src/log/audit/chain-verifier.js';
import type { AppendRequest } from '../src/log/event.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { keepPartitionsAhead } from '../src/log/retention/partitions.js';
import { dropExpiredPartitions } from '../src/log/retention/retention.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { commandLine } from './support/command-line.js';
import { copyDatabase, createDatabase, openDatabase } from './support/databases.js';
import { thing } from './support/event-log.contract.js';
import { temporaryFolder } from './support/folders.js';
import { send, startTestService, type TestService } from './support/service.js';
import { createSmallPartitions } from './support/small-partitions.js';
import { CHANGE_VALUE, DROP_CHECKPOINTS, RECOMPUTE_CHAIN, TAMPERINGS } from './support/tampering.js';
import { answerWith, startReceiver } from './support/webhook-receiver.js';

const SITE = 'shop.example';
const SECRET_KEY = randomBytes(32).toString('hex');
const folder = temporaryFolder('cc-tampering-');
/** The output of `history checkpoint`, as an auditor keeps it. */
const kept = join(folder, 'checkpoint.txt');

interface Finding {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

/** An untouched log, from which every test gets a copy. */
let original: string;
/** The same log at an earlier time. */
let backup: string;
/** Those that were requested, and one for each minute that a service ran. */
let checkpoints: number;

beforeAll(async () => {
  original = await createDatabase();
  const sandbox = await new Sandbox().start();
  const refusing = await startReceiver();
  refusing.answer = answerWith(400);
  for (const host of [SITE, 'other.example']) await run(original, `sites add ${host}`);
  await run(original, `inbound enable ${SITE}`);
  const connect = `platforms connect --site ${SITE}`;
  await run(original, `${connect} meta --set pixel_id=1234567890 --set access_token=a --endpoint ${sandbox.url}/meta`);
  await run(original, `${connect} segment --set write_key=w --endpoint ${refusing.url}`);
  const { key } = JSON.parse(await run(original, `keys create --site ${SITE} --name Shop --json`));
  // Two instances append to the same log.
  const services = [await startTestService(original, { SECRET_KEY }), await startTestService(original, { SECRET_KEY })];
  const [one, other] = services as [TestService, TestService];
  for (let order = 1; order <= 4; order += 1)
    await Promise.all([sendOrder(one, key, `A-${order}`), sendOrder(other, key, `B-${order}`, 'john@example.com')]);
  await sendOrder(other, key, 'A-1', 'jane@example.com', 99);
  await query(original, `CREATE TABLE public.spare_position AS SELECT nextval('cc.event_position') AS position`);
  await run(original, 'history checkpoint');
  await sendOrder(one, key, 'A-5');
  await Promise.all(services.map((service) => service.stop()));
  await run(original, `visitors erase --site ${SITE} --email john@example.com`);
  backup = await copyDatabase(original);
  const last = await startTestService(original, { SECRET_KEY });
  await sendOrder(last, key, 'A-6');
  await cli(original).projectionsCaughtUp();
  await last.stop();
  await sandbox.stop();
  await refusing.stop();
  writeFileSync(kept, await run(original, 'history checkpoint'));
  checkpoints = Number((await query(original, 'SELECT count(*) AS count FROM cc.checkpoints'))[0]?.['count']);
  expect(checkpoints).toBeGreaterThanOrEqual(2);
});

describe('history verify', () => {
  it('passes on an untouched log with two instances, an erasure, a rolled back batch and checkpoints', async () => {
    const report = await verify(await copyDatabase(original));
    expect(report.filter(({ ok }) => !ok)).toEqual([]);
    const detail = Object.fromEntries(report.map((check) => [check.name, check.detail]));
    expect(detail['chain']).toMatch(/^\d+ events in \d+ seals; the chain starts at position 1$/);
    expect(detail['checkpoints']).toMatch(`compared with ${checkpoints} checkpoints of this database, the newest at`);
    expect(detail['erasures']).toMatch(/^[1-9]\d* erased personal parts$/);
    expect((await verify(await copyDatabase(original), ...elsewhere())).filter(({ ok }) => !ok)).toEqual([]);
  });

  it.each(TAMPERINGS)('finds $what', async ({ change, check, says, at, elsewhere: onlyElsewhere }) => {
    const copy = await copyDatabase(original);
    const position = at && Number((await query(copy, `SELECT ${at} AS position`))[0]?.position);
    await tamper(copy, change);
    if (onlyElsewhere) {
      const unaided = await verifyLog(copy);
      expect(unaided.filter(({ name, ok }) => ['chain', 'checkpoints'].includes(name) && !ok)).toEqual([]);
    }
    const report = await verifyLog(copy, onlyElsewhere ? { against: kept, publicKey: kept } : {});
    const found = report.find(({ name }) => name === check);
    expect([check, found?.ok]).toEqual([check, false]);
    expect(found?.detail).toMatch(says);
    expect(found?.detail).toContain('the log may have been altered');
    if (position)
      expect(positionsIn(found?.detail as string).some(([from, to]) => from <= position && position <= to)).toBe(true);
  });

  it('finds that an older backup was restored, by a checkpoint kept elsewhere', async () => {
    const copy = await copyDatabase(backup);
    expect((await verify(copy)).filter(({ ok }) => !ok)).toEqual([]);
    const failed = (await verify(copy, ...elsewhere())).filter(({ ok }) => !ok);
    expect(failed.map(({ name }) => name)).toEqual(['checkpoints']);
    expect(failed[0]?.detail).toMatch(
      /where the log has no seal: events were removed, or an older backup was restored/,
    );
  });

  it('finds a rotation that was forged so that the checkpoints kept elsewhere seem to be of an earlier key', async () => {
    const copy = await copyDatabase(original);
    await run(copy, 'history rotate-key');
    const newer = join(folder, 'after-rotation.txt');
    writeFileSync(newer, await run(copy, 'history checkpoint'));
    await tamper(
      copy,
      `${CHANGE_VALUE};
      UPDATE cc.events SET data = json_build_object('keyId', data ->> 'previousKeyId', 'publicKey', data ->> 'publicKey',
                                                    'previousKeyId', data ->> 'keyId', 'signature', data ->> 'signature')
       WHERE type = 'log.key_rotated.v1';
      ${RECOMPUTE_CHAIN}; ${DROP_CHECKPOINTS}`,
    );
    const report = await verify(copy, '--against', newer, '--public-key', kept);
    expect(report.find(({ name }) => name === 'checkpoints')).toMatchObject({
      ok: false,
      detail: expect.stringMatching(/is signed by a key before the given one, and no verified checkpoint covers it/),
    });
  });

  it('does not advise a rebuild that would hide a changed order id', async () => {
    const copy = await copyDatabase(original);
    const { change } = TAMPERINGS.find(({ what }) => what === 'a changed order id') as (typeof TAMPERINGS)[0];
    await tamper(copy, change);
    const failed = (await verify(copy)).filter(({ ok }) => !ok);
    const projection = failed.find(({ name }) => name.startsWith('projection '));
    expect(projection?.detail).toMatch(/the log may have been altered, and a rebuild would hide it/);
    await run(copy, 'projections rebuild --all');
    expect((await verify(copy)).filter(({ ok }) => !ok).map(({ name }) => name)).toContain('chain');
  });
});

describe('history verify of a log from which retention removed events', () => {
  /** The output of `history checkpoint` after the removal. */
  const keptAfter = join(folder, 'after-removal.txt');
  let shortened: string;

  beforeAll(async () => {
    shortened = await createDatabase();
    const postgres = await openDatabase(shortened);
    const log = new PostgresEventLog(postgres);
    await createSmallPartitions(postgres, 50);
    const events = Array.from({ length: 20 }, (_, index) => ({ type: 'thing.happened.v1', data: { index } }));
    const things = () => log.append(thing(uuidv7(), { events: events as unknown as AppendRequest['events'] }));
    const kept = () => log.append(thing(uuidv7(), { category: 'site' }));
    for (let round = 0; round < 4; round += 1) {
      // A batch with an event that is kept, a batch without one, and one that is kept entirely.
      await Promise.all([things(), kept()]);
      await things();
      await kept();
      await keepPartitionsAhead(postgres, 50);
    }
    await drop(postgres, 2);
    await log.close();
    await postgres.close();
    writeFileSync(keptAfter, await run(shortened, 'history checkpoint'));
  });

  const chainOf = async (copy: string, trust: Partial<Record<'against' | 'publicKey', string>>) =>
    (await verifyLog(copy, trust)).find(({ name }) => name === 'chain') as Finding;
  const both = { against: keptAfter, publicKey: keptAfter };

  it('passes on the untouched log, also after the key was rotated', async () => {
    const copy = await copyDatabase(shortened);
    expect(await chainOf(copy, both)).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/, \d+ more were removed/),
    });
    const rotated = join(folder, 'rotated-after-removal.txt');
    writeFileSync(rotated, await run(copy, 'history rotate-key'));
    const postgres = await openDatabase(copy);
    await drop(postgres, 1);
    await postgres.close();
    expect(await chainOf(copy, both)).toMatchObject({ ok: true });
    expect(await chainOf(copy, { publicKey: rotated })).toMatchObject({
      ok: true,
      detail: expect.stringMatching(/the signatures of 2 removals were not verified/),
    });
  });

  it.each([
    { what: 'without a signature', signature: undefined },
    { what: 'signed by a key that a forged event hands over to the trusted one', signature: 'forged' },
  ])('finds events deleted with a forged removal $what', async ({ signature }) => {
    const copy = await copyDatabase(shortened);
    await tamper(copy, async (client) => {
      // Nothing of the last complete partition is left, as after a removal.
      const { rows } = await client.query<Removal>(
        `SELECT min(first)::float8 AS first, max(last)::float8 AS last, sum(count)::float8 AS events,
                encode(sha256(string_agg(head, '' ORDER BY last)), 'hex') AS digest
           FROM cc.seals WHERE first >= 100 AND last < 150`,
      );
      const removal = rows[0] as Removal;
      await client.query('DELETE FROM cc.events WHERE position BETWEEN $1 AND $2', [removal.first, removal.last]);
      const { privateKey, publicKey } = generateKeyPairSync('ed25519');
      const id = keyIdOf(publicKey);
      const trusted = await client.query<{ id: string; public_key: string }>('SELECT * FROM cc.signing_keys');
      const data = { keyId: trusted.rows[0]?.id, publicKey: trusted.rows[0]?.public_key, previousKeyId: id };
      if (signature)
        await appendForged(client, 'log.key_rotated.v1', { ...data, signature: signJws(data, privateKey, id) });
      const { first, last, events, digest } = removal;
      const token = signature && signJws({ first, last, events, digest }, privateKey, id);
      await appendForged(client, 'log.partition_removed.v1', { first, last, events, digest, signature: token });
    });
    const { ok, detail } = await chainOf(copy, both);
    expect(ok).toBe(false);
    // The checkpoints of the database show as well that the trusted key signed before.
    expect([await chainOf(copy, {}), await chainOf(copy, { publicKey: keptAfter })]).toEqual([
      expect.objectContaining({ ok: false }),
      expect.objectContaining({ ok: false }),
    ]);
    expect(detail).toMatch(/states that retention removed positions 1\d\d to 1\d\d, and no trusted key signed that/);
    expect(detail).toMatch(/is missing, and no event records that retention removed it/);
  });

  it.each([
    { what: 'a kept event deleted with the digests of its batch', batch: 'count > 1' },
    { what: 'a kept event deleted that was a batch of its own', batch: 'count = 1' },
  ])('finds $what', async ({ batch }) => {
    const copy = await copyDatabase(shortened);
    await tamper(
      copy,
      `CREATE TABLE public.batch AS SELECT s.first, s.last FROM cc.seals s
         JOIN cc.events e ON e.position BETWEEN s.first AND s.last AND e.category = 'site'
        WHERE s.last < 50 AND s.${batch} LIMIT 1;
       DELETE FROM cc.events e USING public.batch b WHERE e.position BETWEEN b.first AND b.last;
       DELETE FROM cc.removed_events r USING public.batch b WHERE r.position BETWEEN b.first AND b.last`,
    );
    expect(await query(copy, 'SELECT FROM public.batch')).toHaveLength(1);
    const { ok, detail } = await chainOf(copy, both);
    expect(ok).toBe(false);
    expect(detail).toMatch(/^retention removed \d+ events from positions \d+ to \d+, now \d+ are missing/);
  });

  async function drop(postgres: Postgres, partitions: number): Promise<void> {
    const keys = new SigningKeys(postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
    const sign = await removalSigner(keys, new Checkpoints(postgres.pool, keys, 'local'));
    const options = { olderThanMs: -60_000, sign, onMessage: () => {} };
    const { rows } = await postgres.pool.query<{ beyond: number }>(
      'SELECT beyond::float8 FROM cc.log_partitions WHERE NOT thinned ORDER BY first LIMIT $1',
      [partitions],
    );
    // Keeps what follows these partitions.
    const position = (rows.at(-1) as { beyond: number }).beyond - 1;
    const holds = [async () => [{ holder: 'test', position, fix: '' }]];
    expect(await dropExpiredPartitions(postgres, { ...options, holds })).toBe(partitions);
  }

  async function appendForged(client: Client, type: string, data: object): Promise<void> {
    const row = { n: 1, id: uuidv7(), category: 'log', stream: uuidv7(), site: '', type, actor: 'system', data };
    await client.query(`SELECT cc.append($1, false, false, null, '-infinity', 'infinity', null, '{}')`, [
      JSON.stringify([row]),
    ]);
  }
});

describe('a log that was not altered', () => {
  it('passes after every projection was rebuilt', async () => {
    const copy = await copyDatabase(original);
    await run(copy, 'projections rebuild --all');
    expect((await verify(copy, ...elsewhere())).filter(({ ok }) => !ok)).toEqual([]);
  });

  it('passes after a failover, which continues at far higher positions', async () => {
    const copy = await copyDatabase(original);
    await query(copy, 'UPDATE cc.lineage SET system = 1');
    await run(copy, 'sites add after-failover.example');
    expect(Number((await query(copy, 'SELECT max(position) AS head FROM cc.events'))[0]?.head)).toBeGreaterThan(
      999_999_999,
    );
    expect((await verify(copy, ...elsewhere())).filter(({ ok }) => !ok)).toEqual([]);
  });

  it.each([
    ['no', 30, true],
    ['a', 1, false],
  ])(
    'has %s duplicate if an order is repeated %i h after the clock was set back, which was ahead before',
    async (_, hours, ok) => {
      const copy = await copyDatabase(original);
      await tamper(
        copy,
        `CREATE TABLE public.times AS
       SELECT a.position, b.time + interval '400 days' AS ahead, b.time - interval '${hours} hours' AS set_back
         FROM cc.events a, cc.events b WHERE a.reference = 'A-5' AND b.reference = 'A-6';
       UPDATE cc.events SET data = replace(data::text, '"A-6"', '"A-5"')::json WHERE reference = 'A-6';
       UPDATE cc.events SET time = t.ahead FROM public.times t WHERE cc.events.position = t.position;
       INSERT INTO cc.clock_steps SELECT position + 1, ahead, set_back FROM public.times`,
      );
      expect((await verify(copy)).find(({ name }) => name === 'duplicates')).toMatchObject({ ok });
    },
  );

  it('passes after another erasure, also against checkpoints from before it', async () => {
    const copy = await copyDatabase(original);
    await run(copy, `visitors erase --site ${SITE} --email jane@example.com`);
    expect((await verify(copy, ...elsewhere())).filter(({ ok }) => !ok)).toEqual([]);
  });

  it('passes after the key was rotated, with the old public key and with the new one', async () => {
    const copy = await copyDatabase(original);
    const rotated = join(folder, 'rotated.txt');
    writeFileSync(rotated, await run(copy, 'history rotate-key'));
    const newer = join(folder, 'newer.txt');
    writeFileSync(newer, await run(copy, 'history checkpoint'));
    expect((await verify(copy, ...elsewhere())).filter(({ ok }) => !ok)).toEqual([]);
    expect((await verify(copy, '--against', newer, '--public-key', kept)).filter(({ ok }) => !ok)).toEqual([]);
    const withNew = await verify(copy, '--against', newer, '--public-key', rotated);
    expect(withNew.filter(({ ok }) => !ok)).toEqual([]);
    expect(withNew.find(({ name }) => name === 'checkpoints')?.detail).toContain(
      `${checkpoints} were not verified: they were signed by keys before`,
    );

    await tamper(
      copy,
      `UPDATE cc.events SET data = replace(data::text, '"signature":"', '"signature":"x')::json
                         WHERE type = 'log.key_rotated.v1'`,
    );
    const forged = (await verify(copy, '--public-key', kept)).find(({ name }) => name === 'checkpoints');
    expect(forged?.detail).toMatch(/the key rotation at position \d+ is not signed by the key before/);
  });
});

function elsewhere(): string[] {
  return ['--against', kept, '--public-key', kept];
}

async function verify(databaseUrl: string, ...options: string[]): Promise<Finding[]> {
  const { code, stdout, stderr } = await cli(databaseUrl).run('history verify --json', ...options);
  const report = JSON.parse(stdout || stderr) as { ok: boolean; checks: Finding[] };
  expect(code).toBe(report.ok ? 0 : 1);
  return report.checks;
}

/** Only the checks of the log itself, because reading all projections forty times would take minutes. */
async function verifyLog(
  databaseUrl: string,
  files: { readonly against?: string; readonly publicKey?: string } = {},
): Promise<readonly Finding[]> {
  const postgres = await openDatabase(databaseUrl);
  const log = new PostgresEventLog(postgres);
  try {
    const settings = readSettings({ DATABASE_URL: databaseUrl, SECRET_KEY });
    const trust = await readTrust(settings, files);
    const until = await log.head();
    const dependencies = { postgres, log, settings, until, trust, progress: () => {} } as unknown as VerifyDependencies;
    return (await verifyAll(dependencies, allEventChecks(), [], [checkpointsCheck, orderCheck])).checks;
  } finally {
    await log.close();
    await postgres.close();
  }
}

async function tamper(databaseUrl: string, change: string | ((client: Client) => Promise<void>)): Promise<void> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    await client.query('SET session_replication_role = replica');
    if (typeof change === 'string') await client.query(change);
    else await change(client);
  } finally {
    await client.end();
  }
}

/** Every position, and every range of positions, that a text names. */
function positionsIn(text: string): [number, number][] {
  return [...text.matchAll(/positions? (\d+)(?: to (\d+))?/g)].map(([, from, to]) => [
    Number(from),
    Number(to ?? from),
  ]);
}

async function query(databaseUrl: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

async function sendOrder(service: TestService, key: string, orderId: string, email = 'jane@example.com', value = 10) {
  const body = JSON.stringify({ email, event: 'purchase', value, currency: 'EUR', orderId });
  const headers = { Host: SITE, 'X-CC-Api-Key': key, 'Content-Type': 'application/json' };
  expect((await send(service, { method: 'POST', path: '/__cc/inbound', body, headers })).status).toBe(200);
}

/** Runs a command that must succeed, and returns what it prints. */
function run(databaseUrl: string, command: string): Promise<string> {
  return cli(databaseUrl).text(command);
}

function cli(databaseUrl: string) {
  return commandLine({ DATABASE_URL: databaseUrl, SECRET_KEY, ERASURE_LIST: join(folder, 'erasures') });
}
