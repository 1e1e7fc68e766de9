import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, type ClientBase } from 'pg';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { appendInTransaction } from '../../src/log/append/append-in-transaction.js';
import { countOutOfOrder } from '../../src/log/audit/log-audit.js';
import type { AppendRequest, StoredEvent } from '../../src/log/event.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { keepPartitionsAhead, readPartitions } from '../../src/log/retention/partitions.js';
import { dropExpiredPartitions } from '../../src/log/retention/retention.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { appendRow, callAppend, claiming, DAY_MS, describeEventLog, thing } from '../support/event-log.contract.js';
import { createSmallPartitions } from '../support/small-partitions.js';

describe('the event log', () => {
  let url: string;
  let postgres: Postgres;
  let log: EventLog;
  let batches: number[];

  beforeEach(async () => {
    url = await createDatabase();
    postgres = await openDatabase(url);
    batches = [];
    log = new PostgresEventLog(postgres, { appended: (events) => batches.push(events) });
  });
  afterEach(async () => {
    await log.close();
    await postgres.close();
  });

  describeEventLog(() => log);

  describe('another change with an append', () => {
    const change = (client: ClientBase) =>
      client.query("INSERT INTO cc.secrets (site, name, sealed) VALUES ('shop.example', $1, '')", [uuidv7()]);
    const countChanges = async () => (await postgres.pool.query('SELECT FROM cc.secrets')).rowCount;
    const append = (request: AppendRequest) =>
      log.appendWith({ ...request, expected: 0 }, async (client) => void (await change(client)));

    it('is stored with the event', async () => {
      const request = thing();
      await append(request);
      expect(await countChanges()).toBe(1);
      expect(await append(request)).toEqual({ status: 'conflict' });
      expect(await countChanges()).toBe(1);
    });

    it('is not stored without the event', async () => {
      const bad = thing(uuidv7(), { events: [{ type: 'thing.happened.v1', data: {}, reference: 'nul \u0000 byte' }] });
      await expect(append(bad)).rejects.toThrow();
      expect(await countChanges()).toBe(0);
    });

    it('is not stored if the stream got its first event while the change was made', async () => {
      const request = thing();
      const outcome = await log.appendWith({ ...request, expected: 0 }, async (client) => {
        await change(client);
        await log.append(request);
      });
      expect(outcome).toEqual({ status: 'conflict' });
      expect(await countChanges()).toBe(0);
    });

    it('does not fail other appends when its client freezes before the commit', async () => {
      const client = await postgres.pool.connect();
      client.on('error', () => {});
      await client.query('BEGIN');
      await appendInTransaction(client, postgres.clock, { ...thing(), expected: 'new' });
      await expect(log.append(thing())).resolves.toMatchObject({ status: 'appended' });
      await expect(client.query('COMMIT')).rejects.toThrow();
      client.release(true);
    });
  });

  describe('group commit', () => {
    it('stores queued requests in few commits and answers each with its own position', async () => {
      const streams = Array.from({ length: 500 }, () => uuidv7());
      const outcomes = await Promise.all(streams.map((stream) => log.append(thing(stream))));
      expect(batches.length).toBeLessThan(20);
      const stored = await log.read();
      const positions = new Map(stored.map((event) => [event.stream, event.position]));
      expect(outcomes.map((outcome) => outcome.status === 'appended' && outcome.position)).toEqual(
        streams.map((stream) => positions.get(`thing-${stream}`)),
      );
    });

    it('rejects an event that cannot be stored without rejecting the others of its batch', async () => {
      const bad = thing(uuidv7(), { events: [{ type: 'thing.happened.v1', data: {}, reference: 'nul \u0000 byte' }] });
      const requests = [thing(), thing(), bad, thing(), thing()];
      const outcomes = await Promise.allSettled(requests.map((request) => log.append(request)));
      expect(outcomes.map(({ status }) => status)).toEqual([
        'fulfilled',
        'fulfilled',
        'rejected',
        'fulfilled',
        'fulfilled',
      ]);
      expect(await log.read()).toHaveLength(4);
    });

    /** Simulates a server clock that was ahead during the last batch. */
    async function moveHead(aheadMs: number): Promise<void> {
      const owner = await postgres.connectAsOwner('test');
      // The append-only trigger applies to the owner too, so disable it.
      await owner.query(`ALTER TABLE cc.events_0 DISABLE TRIGGER ALL; ALTER TABLE cc.events DISABLE TRIGGER ALL;
        UPDATE cc.events SET time = time + interval '${aheadMs} ms'; UPDATE cc.seals SET time = time + interval '${aheadMs} ms';
        ALTER TABLE cc.events ENABLE TRIGGER ALL; ALTER TABLE cc.events_0 ENABLE TRIGGER ALL`);
      await owner.end();
    }

    it('keeps time monotonic when the clock steps back a little', async () => {
      await log.append(thing());
      await moveHead(4_000);
      const [event] = await log.read();
      await log.append(thing());
      const [, next] = await log.read();
      expect(Date.parse(next?.time as string)).toBeGreaterThanOrEqual(Date.parse(event?.time as string));
      expect((await postgres.pool.query('SELECT FROM cc.clock_steps')).rowCount).toBe(0);
    });

    it('follows the clock when it was far ahead, and records where the time goes back', async () => {
      const key = randomUUID();
      await log.append(claiming(key));
      await moveHead(400 * DAY_MS);
      await postgres.pool.query(`UPDATE cc.dedup SET at = at + interval '400 days'`);
      const [event] = await log.read();
      expect(await log.append(claiming(key))).toMatchObject({ status: 'claimed' });
      const next = await log.append(thing());
      const head = await log.head();
      expect(next).toMatchObject({ status: 'appended', position: head });
      const { rows } = await postgres.pool.query('SELECT position, before_time, after_time FROM cc.clock_steps');
      expect(rows).toEqual([
        {
          position: String(head),
          before_time: new Date(event?.time as string),
          after_time: new Date('time' in next ? next.time : Number.NaN),
        },
      ]);
      expect(Date.parse(event?.time as string) - rows[0].after_time.getTime()).toBeGreaterThan(399 * DAY_MS);
      // The event of the time ahead counts from the step when a position is looked up by time, and is in order.
      const step = rows[0].after_time.getTime();
      expect(await log.positionBefore(new Date(step))).toBe(0);
      expect(await log.positionBefore(new Date(step + 1))).toBe(head);
      expect(await countOutOfOrder(postgres.pool, head)).toEqual({ events: 0, seals: 0 });
      // The claim of the time ahead counts from the step, so that it expires.
      await sleep(20);
      expect(await log.append(claiming(key, 10))).toMatchObject({ status: 'appended' });
    });
  });

  describe('position order is commit order', () => {
    /** Writers that commit immediately, hold their transaction open, or roll back. */
    async function writeInterleaved(turns: number): Promise<number> {
      const write = async (writer: number) => {
        const client = new Client({ connectionString: url });
        await client.connect();
        let committed = 0;
        for (let turn = 0; turn < turns; turn += 1) {
          await client.query('BEGIN');
          await callAppend(client, [appendRow()]);
          if (writer % 2 === 0) await sleep(turn % 7);
          const rollsBack = writer === 3 && turn % 3 === 0;
          await client.query(rollsBack ? 'ROLLBACK' : 'COMMIT');
          if (!rollsBack) committed += 1;
        }
        await client.end();
        return committed;
      };
      return (await Promise.all([0, 1, 2, 3, 4, 5].map(write))).reduce((sum, count) => sum + count, 0);
    }

    /** A reader that stores only its last position. */
    async function countMissed(): Promise<{ committed: number; missed: number }> {
      const seen: StoredEvent[] = [];
      let last = -1;
      let writing = true;
      const readNew = async () => {
        for (const event of await log.read({ after: last })) {
          seen.push(event);
          last = event.position;
        }
      };
      const reading = (async () => {
        while (writing) await readNew();
      })();
      const committed = await writeInterleaved(60);
      writing = false;
      await reading;
      await readNew();
      return { committed, missed: committed - seen.length };
    }

    it('lets a reader miss no event that stores only its last position', async () => {
      const { committed, missed } = await countMissed();
      expect(committed).toBeGreaterThan(100);
      expect(missed).toBe(0);
    });

    it('fails for a reader that stores only its last position when the lock is removed from cc.append', async () => {
      const owner = await postgres.connectAsOwner('test');
      const { rows } = await owner.query<{ source: string }>(
        `SELECT pg_get_functiondef('cc.append'::regproc) AS source`,
      );
      const source = rows[0]?.source as string;
      const unlocked = source.replace('PERFORM pg_advisory_xact_lock(4845001);', '');
      expect(unlocked).not.toBe(source);
      await owner.query(unlocked);
      await owner.end();
      expect((await countMissed()).missed).toBeGreaterThan(0);
    });
  });

  describe('when the connection breaks', () => {
    it('stores every request exactly once while its connections are terminated', async () => {
      const killer = new Client({ connectionString: url });
      await killer.connect();
      let writing = true;
      let kills = 0;
      const killing = (async () => {
        while (writing) {
          const { rowCount } = await killer.query(
            `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'cc%-append' AND datname = current_database()`,
          );
          kills += rowCount ?? 0;
          // A connection that is ended again before its first batch would never store one on a busy machine.
          for (const stored = batches.length; writing && batches.length === stored; ) await sleep(20);
        }
      })();
      const streams: string[] = [];
      for (let round = 0; round < 25; round += 1) {
        const requests = Array.from({ length: 40 }, () => claiming(randomUUID()));
        const outcomes = await Promise.all(requests.map((request) => log.append(request)));
        expect(outcomes.every(({ status }) => status === 'appended')).toBe(true);
        streams.push(...requests.map(({ stream }) => `thing-${stream}`));
      }
      writing = false;
      await killing;
      await killer.end();
      expect(kills).toBeGreaterThan(0);
      const stored = (await log.read()).map(({ stream }) => stream);
      expect(stored).toHaveLength(streams.length);
      expect(new Set(stored)).toEqual(new Set(streams));
    });

    it('reports a batch as stored when only the response was lost', async () => {
      const client = new Client({ connectionString: url });
      await client.connect();
      const claim = () => ({ key: randomUUID(), span: 60, weak: false });
      const [first, second] = [appendRow(claim()), appendRow({ n: 2, ...claim() })];
      const before = await callAppend(client, [first]);
      const after = await callAppend(client, [first, second], { again: true });
      expect(after).toMatchObject({ stored: [before.first, null], lost: null, conflicts: null });
      expect(await log.read()).toHaveLength(2);
      await client.end();
    });
  });

  describe('append-only', () => {
    const changes = [
      'UPDATE cc.events SET data = $$"x"$$',
      'DELETE FROM cc.events',
      'TRUNCATE cc.events',
      'DELETE FROM cc.events_0',
      'TRUNCATE cc.events_0',
      'UPDATE cc.events_0 SET actor = $$x$$',
    ];

    it.each(changes)('refuses the service: %s', async (change) => {
      await log.append(thing());
      await expect(postgres.pool.query(change)).rejects.toThrow(/permission denied/);
      expect(await log.read()).toHaveLength(1);
    });

    it.each(changes)('refuses the owner of the schema: %s', async (change) => {
      await log.append(thing());
      const owner = await postgres.connectAsOwner('test');
      await expect(owner.query(change)).rejects.toThrow(/append-only/);
      await owner.end();
      expect(await log.read()).toHaveLength(1);
    });
  });

  describe('a follower', () => {
    it('receives every event once and in order while several instances append', async () => {
      const other = new PostgresEventLog(postgres);
      const seen: number[] = [];
      const follower = await log.follow({ name: 'test', after: 0 }, (events) => {
        seen.push(...events.map(({ position }) => position));
      });
      for (let round = 0; round < 20; round += 1) {
        await Promise.all([log, other].flatMap((writer) => Array.from({ length: 15 }, () => writer.append(thing()))));
      }
      await follower.poll();
      expect(seen).toEqual((await log.read()).map(({ position }) => position));
      expect(seen).toHaveLength(600);
      expect(follower.lag).toBe(0);
      await other.close();
    });

    it('is notified of an append by another instance', async () => {
      const other = new PostgresEventLog(postgres);
      let arrived: (at: number) => void = () => {};
      const arrival = new Promise<number>((resolve) => {
        arrived = resolve;
      });
      await log.follow({ name: 'test', after: 0, categories: ['thing'] }, () => arrived(performance.now()));
      await sleep(20);
      await other.append(thing());
      await arrival;
      await other.close();
    });
  });

  describe('partitions', () => {
    it('are created two ahead, appends cross from one to the next, and old ones are dropped', async () => {
      const owner = await postgres.connectAsOwner('test');
      await createSmallPartitions(postgres, 50);
      const stream = uuidv7();
      const site = thing(uuidv7(), { category: 'site' });
      await log.append(site);
      for (let round = 0; round < 6; round += 1) {
        await keepPartitionsAhead(postgres, 50);
        const personal = { subject: 'ab'.repeat(32) };
        const events: AppendRequest['events'] = [{ type: 't', data: {}, personal, reference: `R${round}` }];
        await Promise.all(Array.from({ length: 40 }, () => log.append(thing(uuidv7(), { events }))));
        expect(await log.append(thing(stream, { expected: round }))).toMatchObject({ status: 'appended' });
      }
      expect((await keepPartitionsAhead(postgres, 50)).ahead).toBeGreaterThanOrEqual(2);
      expect(await log.read()).toHaveLength(247);
      expect(await log.find('shop.example', 'R0')).toHaveLength(40);
      expect((await log.readStream('thing', stream)).map(({ version }) => version)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await log.append(thing(stream, { expected: 2 }))).toEqual({ status: 'conflict' });

      const drop = (olderThanMs: number) =>
        dropExpiredPartitions(postgres, { olderThanMs, holds: [], sign: async () => 'signature', onMessage: () => {} });
      expect(await drop(DAY_MS)).toBe(0);
      // Four, and the fifth: the events that record these removals fill it.
      expect(await drop(-DAY_MS)).toBe(5);
      // Site events stay at their positions; all other events of those partitions are dropped, and only once.
      const left = await log.read();
      expect(left.filter(({ position }) => position < 200).map((event) => event.stream)).toEqual([
        `site-${site.stream}`,
      ]);
      expect(await drop(-DAY_MS)).toBe(0);
      expect((await postgres.pool.query('SELECT FROM cc.personal WHERE position < 200')).rowCount).toBe(0);
      await expect(owner.query('DELETE FROM cc.events_0')).rejects.toThrow(/append-only/);
      expect(await log.append(thing())).toMatchObject({ status: 'appended' });
      expect((await readPartitions(postgres.pool)).partitions).toBeGreaterThanOrEqual(3);
      await owner.end();
    });
  });

  describe('after a failover or a restored backup', () => {
    it('continues beyond every position that a reader may have seen', async () => {
      await log.append(thing());
      await log.close();
      const owner = await postgres.connectAsOwner('test');
      await owner.query(`UPDATE cc.lineage SET timeline = '000000FF'`);
      await owner.end();
      const messages: string[] = [];
      log = new PostgresEventLog(postgres, { onMessage: (line) => messages.push(line) });
      const outcome = await log.append(thing());
      expect(outcome).toMatchObject({ status: 'appended', position: 1_000_000_000 });
      expect(messages).toEqual([expect.stringContaining('positions continue at 1000000000')]);
      expect(await log.append(thing())).toMatchObject({ position: 1_000_000_001 });
      expect((await keepPartitionsAhead(postgres)).ahead).toBe(2);
    });

    it('leaves room for lost positions, and for prepared partitions, where it is just below a multiple of its leap', async () => {
      const owner = await postgres.connectAsOwner('test');
      await owner.query(`SELECT setval('cc.event_position', 999999990)`);
      await keepPartitionsAhead(postgres);
      expect(await log.append(thing())).toMatchObject({ position: 999_999_991 });
      await log.close();
      await owner.query(`UPDATE cc.lineage SET timeline = '000000FF'`);
      await owner.end();
      log = new PostgresEventLog(postgres);
      expect(await log.append(thing())).toMatchObject({ status: 'appended', position: 2_000_000_000 });
    });
  });
});
