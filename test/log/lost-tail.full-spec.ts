import { tmpdir } from 'node:os';
import { Registry } from 'prom-client';
import { FAILOVER_STREAM, LOG } from '../../src/events/log.events.js';
import { Logger } from '../../src/kernel/logger.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { AppendConnection } from '../../src/log/append/append-connection.js';
import { type AppendCall, AppendQueue } from '../../src/log/append/append-queue.js';
import { AppendReadiness } from '../../src/log/append/append-readiness.js';
import type { StoredEvent } from '../../src/log/event.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { FailoverWatch } from '../../src/operations/failover-watch.js';
import { Postgres } from '../../src/postgres/postgres.js';
import { startTestServer, type TestServer, type TestStandby } from '../support/postgres-server.js';
import { eventually } from '../support/waiting.js';

const request = (category = 'thing') =>
  ({
    category,
    stream: uuidv7(),
    expected: 'new',
    site: 's',
    actor: 'system',
    events: [{ type: `${category}.happened.v1`, data: {} }],
  }) as const;

describe('a standby that lags', () => {
  let server: TestServer;
  let standby: TestStandby;
  let postgres: Postgres;
  let log: PostgresEventLog;

  beforeEach(async () => {
    server = await startTestServer();
    standby = await server.addStandby();
    const hosts = [server, standby].map(({ host }) => `${encodeURIComponent(host)}:5432`).join(',');
    postgres = await Postgres.open({
      databaseUrl: `postgres://postgres@${hosts}/postgres`,
      dataDir: tmpdir(),
      onMessage: () => {},
    });
    log = new PostgresEventLog(postgres);
  });
  afterEach(async () => {
    await log.close();
    await postgres.close();
    await standby.stop();
    await server.stop();
  });

  const append = async (category?: string) => {
    const outcome = await log.append(request(category));
    return outcome.status === 'appended' ? outcome.position : 0;
  };

  it('loses events when it is promoted, and every lost position is reported once', async () => {
    const lines: string[] = [];
    const registry = new Registry();
    const watch = new FailoverWatch(postgres, log, new Logger('warn', { write: (line) => lines.push(line) }), registry);
    const applied: StoredEvent[] = [];
    let readAgain = 0;
    const follower = await log.follow(
      {
        name: 'test',
        after: 0,
        categories: ['thing'],
        onLost: async () => {
          readAgain += 1;
          const events = await log.read({ categories: ['thing'] });
          applied.splice(0, applied.length, ...events);
          return events.at(-1);
        },
      },
      (events) => {
        applied.push(...events);
      },
    );
    const kept = await append();
    await watch.check();
    await standby.stop();
    const lost = [await append(), await append(), await append('other')];
    await follower.poll();
    expect(applied.map(({ position }) => position)).toEqual([kept, ...lost.slice(0, 2)]);
    await server.kill9();
    await standby.restart();
    await standby.promote();
    // A connection may still be to the primary that was killed.
    const continued = await eventually(
      () => append().catch(() => undefined),
      (position) => position !== undefined,
    );
    expect(continued).toBe(1_000_000_000);
    await eventually(
      () => watch.check().then(() => log.readStream(LOG, FAILOVER_STREAM)),
      ({ length }) => length > 0,
    );
    await watch.check();
    await follower.poll();
    await follower.stop();

    const range = { first: lost[0], last: lost[2] };
    const recorded = await log.readStream(LOG, FAILOVER_STREAM);
    expect(recorded.map(({ data }) => data)).toEqual([
      expect.objectContaining({ kept, continuesAt: 1_000_000_000, lostEvents: 3, lost: [range] }),
    ]);
    expect((await registry.getSingleMetric('cc_log_lost_events_total')?.get())?.values[0]?.value).toBe(3);
    expect(lines.filter((line) => line.includes('lost 3 events'))).toHaveLength(1);
    expect([readAgain, applied.map(({ position }) => position)]).toEqual([1, [kept, 1_000_000_000]]);
    expect(await log.takeLost()).toEqual([]);
  });

  it('is reported after its promotion by the first instance that starts, if none ran meanwhile', async () => {
    const kept = await append();
    await log.close();
    await postgres.close();
    await standby.promote();
    postgres = await Postgres.open({
      databaseUrl: standby.url(),
      dataDir: tmpdir(),
      onMessage: () => {},
    });
    log = new PostgresEventLog(postgres);
    const lines: string[] = [];
    const start = () =>
      new FailoverWatch(postgres, log, new Logger('warn', { write: (line) => lines.push(line) }), new Registry());
    for (const watch of [start(), start()]) {
      await watch.check();
      await watch.check();
    }
    const recorded = await log.readStream(LOG, FAILOVER_STREAM);
    expect(recorded.map(({ data }) => data)).toEqual([
      expect.objectContaining({ kept, continuesAt: 1_000_000_000, lostEvents: 0, startedAfter: true }),
    ]);
    expect(lines.filter((line) => line.includes('before this instance started'))).toHaveLength(1);
  });

  it('must confirm events that are found stored, if commits wait for it', async () => {
    const connection = new AppendConnection(postgres, new AppendReadiness(async () => {}));
    const calls: AppendCall[] = [];
    const recording = {
      append: (call: AppendCall) => {
        calls.push(call);
        return connection.append(call);
      },
    };
    await new AppendQueue(recording, postgres.clock).append(request());
    const again = { ...(calls[0] as AppendCall), checked: true, latestMs: postgres.clock.nowMs() + 60_000 };
    expect((await connection.append(again)).stored).toEqual([expect.objectContaining({ position: 1 })]);
    const owner = await postgres.connectAsOwner('test');
    await standby.stop();
    await owner.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`);
    await owner.query('SELECT pg_reload_conf()');
    // The server applies the setting some time after it was told to.
    await eventually(
      () => connection.append(again).then(() => 'stored', String),
      (outcome) => outcome.includes('timeout'),
    );
    await owner.query('ALTER SYSTEM RESET synchronous_standby_names');
    await owner.query('SELECT pg_reload_conf()');
    await owner.end();
    await connection.close();
  });
});
