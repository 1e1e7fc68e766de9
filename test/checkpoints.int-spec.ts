import { createPublicKey } from 'node:crypto';
import { type Checkpoint, readCheckpoint } from '../src/checkpoints/checkpoint.js';
import { CheckpointScheduler } from '../src/checkpoints/checkpoint.scheduler.js';
import { Checkpoints, readStoredCheckpoints } from '../src/checkpoints/checkpoints.js';
import { rotateKey } from '../src/checkpoints/rotate-key.js';
import { hasSettledKey, readPublicKeys, SigningKeys } from '../src/checkpoints/signing-keys.js';
import { isSignedBy } from '../src/kernel/jws.js';
import { Logger } from '../src/kernel/logger.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { readChainHead } from '../src/log/audit/chain-audit.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { createDatabase, openDatabase } from './support/databases.js';

const settings = readSettings({ KAFKA_BROKERS: '127.0.0.1:1' });

describe('checkpoints', () => {
  let postgres: Postgres;
  let log: EventLog;

  beforeEach(async () => {
    postgres = await openDatabase(await createDatabase());
    log = new PostgresEventLog(postgres);
  });
  afterEach(async () => {
    await log.close();
    await postgres.close();
  });

  const open = () =>
    new Checkpoints(postgres.pool, new SigningKeys(postgres.pool, new Sealer(Buffer.alloc(32))), 'local');
  const stored = () => readStoredCheckpoints(postgres.pool);
  const append = () =>
    log.append({
      ...{ category: 'test', stream: uuidv7(), expected: 'new', site: 'shop.example', actor: 'system' },
      events: [{ type: 'test.happened.v1', data: {} }],
    });
  /** As if the newest checkpoint had been signed a minute earlier. */
  const letMinutePass = () => postgres.pool.query(`UPDATE cc.checkpoints SET time = time - interval '61 seconds'`);

  it('are signed once a minute at most, and only when the log has moved', async () => {
    const checkpoints = open();
    expect(await checkpoints.createIfDue()).toBeUndefined();
    await append();
    const first = await checkpoints.createIfDue();
    expect(first).toBeDefined();
    await letMinutePass();
    expect(await checkpoints.createIfDue()).toBeUndefined();
    await append();
    expect(await checkpoints.createIfDue()).toMatchObject({ position: (await readChainHead(postgres.pool))?.position });
    await append();
    expect(await checkpoints.createIfDue()).toBeUndefined();
    expect(await stored()).toHaveLength(2);
  });

  it('state the head of the chain and verify with the stored public key', async () => {
    await append();
    const { token } = (await open().createIfDue()) as { token: string };
    const [publicKey, ...others] = await readPublicKeys(postgres.pool);
    expect(others).toEqual([]);
    expect(isSignedBy(token, createPublicKey(publicKey as string))).toBe(true);
    const { cell, position, head } = readCheckpoint(token) as Checkpoint;
    expect({ cell, position, head }).toEqual({ cell: 'local', ...(await readChainHead(postgres.pool)) });
  });

  it('are created by one of several instances, with one key', async () => {
    await append();
    await Promise.all(Array.from({ length: 6 }, () => open().createIfDue()));
    expect(await stored()).toHaveLength(1);
    expect(await readPublicKeys(postgres.pool)).toHaveLength(1);
  });

  it('are signed by the present key, also by an instance that was frozen while the key was replaced', async () => {
    await append();
    const keys = new SigningKeys(postgres.pool, new Sealer(Buffer.alloc(32)));
    const frozen = new SigningKeys(postgres.pool, new Sealer(Buffer.alloc(32)));
    // Right after it has read the key.
    const active = frozen.active.bind(frozen);
    frozen.active = async () => {
      const key = await active();
      await rotateKey(keys, log, 'cli');
      return key;
    };
    const created = (await new Checkpoints(postgres.pool, frozen, 'local').createIfDue()) as { token: string };
    expect(readCheckpoint(created.token)?.key).toBe((await keys.active()).id);
  });

  it('are signed again on request if the last one is of a key that was replaced', async () => {
    await append();
    const keys = new SigningKeys(postgres.pool, new Sealer(Buffer.alloc(32)));
    const before = (await open().current()) as { token: string; position: number };
    // As if the checkpoint had been signed between the two steps of a rotation: its event, and the replacement of the key.
    await keys.replace(await keys.active(), await keys.prepare());
    const current = (await open().current()) as { token: string };
    expect(readCheckpoint(current.token)).toMatchObject({ position: before.position, key: (await keys.active()).id });
    expect(await stored()).toEqual([current]);
  });

  it('are signed by the key of the first of two rotations at once; the other one says so and leaves no private key', async () => {
    await append();
    const [keys, slow] = [1, 2].map(() => new SigningKeys(postgres.pool, new Sealer(Buffer.alloc(32)))) as [
      SigningKeys,
      SigningKeys,
    ];
    const { replace } = SigningKeys.prototype;
    slow.replace = async (previous, next) => {
      await rotateKey(keys, log, 'cli');
      return replace.call(slow, previous, next);
    };
    await expect(rotateKey(slow, log, 'cli')).rejects.toThrow(/^Another rotation replaced .* run .* again/);
    const { id } = await keys.active();
    const { rows } = await postgres.pool.query(`SELECT name FROM cc.secrets WHERE name LIKE 'signing.%'`);
    expect(rows).toEqual([{ name: `signing.${id}` }]);
    await rotateKey(keys, log, 'cli');
    expect((await keys.active()).id).not.toBe(id);
  });

  it('are created while Kafka is away, and published in order when it is back', async () => {
    const published: string[] = [];
    let isAway = true;
    const publish = async (_: unknown, tokens: readonly string[]) => {
      if (isAway) throw new Error('away');
      published.push(...tokens);
    };
    const schedulers = [1, 2].map(
      () => new CheckpointScheduler(postgres, open(), settings, new Logger('silent'), publish),
    );
    const checkAll = async () => {
      for (const scheduler of schedulers) scheduler.check();
      for (const scheduler of schedulers) await scheduler.settled();
    };
    for (let at = 0; at < 3; at += 1) {
      await append();
      await checkAll();
      await letMinutePass();
    }
    expect(await stored()).toHaveLength(3);
    expect(published).toEqual([]);
    isAway = false;
    await checkAll();
    await checkAll();
    expect(published).toEqual((await stored()).map(({ token }) => token));
    for (const scheduler of schedulers) scheduler.onApplicationShutdown();
    await append();
    await checkAll();
    expect(await stored()).toHaveLength(3);
  });

  it('are published also if they were signed again, by another key, while the earlier one was being published', async () => {
    const keys = new SigningKeys(postgres.pool, new Sealer(Buffer.alloc(32)));
    await append();
    const published: string[] = [];
    const publish = async (_: unknown, tokens: readonly string[]) => {
      published.push(...tokens);
      if (published.length > 1) return;
      await keys.replace(await keys.active(), await keys.prepare());
      await open().current();
    };
    const scheduler = new CheckpointScheduler(postgres, open(), settings, new Logger('silent'), publish);
    await open().createIfDue();
    scheduler.check();
    await scheduler.settled();
    const [checkpoint] = await stored();
    expect(published).toHaveLength(2);
    expect(published[1]).toBe(checkpoint?.token);
  });

  it('have a settled key a minute after it was created, also if the clock was set back', async () => {
    expect(await hasSettledKey(postgres.pool)).toBe(false);
    await new SigningKeys(postgres.pool, new Sealer(Buffer.alloc(32))).active();
    expect(await hasSettledKey(postgres.pool)).toBe(false);
    for (const age of ['61 seconds', '-1 hour']) {
      await postgres.pool.query('UPDATE cc.signing_keys SET created_at = clock_timestamp() - $1::interval', [age]);
      expect(await hasSettledKey(postgres.pool)).toBe(true);
    }
  });

  it('keep the last one of each hour after a day', async () => {
    await append();
    const checkpoints = open();
    await checkpoints.createIfDue();
    await postgres.pool.query('DELETE FROM cc.checkpoints');
    await postgres.pool.query(
      `INSERT INTO cc.checkpoints SELECT n - 1000, date_trunc('hour', clock_timestamp()) - interval '30 hours' + n * interval '10 minutes', 'x'
         FROM generate_series(0, 17) AS n`,
    );
    await checkpoints.createIfDue();
    expect((await stored()).map(({ position }) => position).slice(0, -1)).toEqual([5 - 1000, 11 - 1000, 17 - 1000]);
  });
});
