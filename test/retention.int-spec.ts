import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { allHolds } from '../src/app/hold-sources.js';
import { allProjections } from '../src/app/projections.js';
import { Checkpoints } from '../src/checkpoints/checkpoints.js';
import { removalSigner } from '../src/checkpoints/signed-removal.js';
import { SigningKeys } from '../src/checkpoints/signing-keys.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import { OUTBOUND, type ReportingWindow } from '../src/events/outbound.events.js';
import { holdLog, RelayProgressStore } from '../src/kafka/relay-progress.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { derivedUuid, uuidv7 } from '../src/kernel/uuid.js';
import type { NewEvent } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { keepPartitionsAhead } from '../src/log/retention/partitions.js';
import { dropExpiredPartitions } from '../src/log/retention/retention.js';
import { type HoldSource, RETENTION_LOCK, withReaderHold } from '../src/log/retention/retention-holds.js';
import { openHttpClient, Pusher, pusherOptions } from '../src/outbound/pusher.js';
import { streamOf } from '../src/outbound/reporting-window.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { AddSite, ChangeSiteSettings } from '../src/sites/site.commands.js';
import { siteCommandDispatcher } from '../src/sites/site-command-handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { DisableWebhook, SetWebhook } from '../src/sites/webhook.commands.js';
import type { SiteWebhook } from '../src/sites/webhook.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { DAY_MS, thing } from './support/event-log.contract.js';
import { createSmallPartitions } from './support/small-partitions.js';
import { eventually } from './support/waiting.js';

const SITE = 'shop.example';
const PARTITION_EVENTS = 50;
const FUTURE = '2126-01-01T00:00:00.000Z';

describe('log retention', () => {
  let databaseUrl: string;
  let postgres: Postgres;
  let log: EventLog;
  let sites: SiteRepository;
  let secrets: SiteSecrets;
  let keys: SigningKeys;
  let projections: ProjectionRunner;
  let messages: string[];

  beforeEach(async () => {
    databaseUrl = await createDatabase();
    postgres = await openDatabase(databaseUrl);
    await createSmallPartitions(postgres, PARTITION_EVENTS);
    log = new PostgresEventLog(postgres);
    sites = new SiteRepository(log);
    const sealer = new Sealer(randomBytes(32));
    secrets = new SiteSecrets(postgres.pool, sealer);
    keys = new SigningKeys(postgres.pool, sealer);
    projections = new ProjectionRunner(postgres, allProjections(secrets));
    messages = [];
    await scannedTo(Number.MAX_SAFE_INTEGER);
  });
  afterEach(async () => {
    await log.close();
    await postgres.close();
  });

  const scannedTo = (position: number, names = ['late-matches', 'deliveries-scan']) =>
    postgres.pool.query(
      `INSERT INTO cc.leases (name, holder, token, until, reached) SELECT unnest($3::text[]), $1, 1, '-infinity', $2
       ON CONFLICT (name) DO UPDATE SET reached = excluded.reached`,
      [uuidv7(), position, names],
    );
  const execute: ReturnType<typeof siteCommandDispatcher>['execute'] = (command) =>
    siteCommandDispatcher(sites, secrets).execute(command);
  const append = (category: string, stream: string, expected: number, event: NewEvent) =>
    log.append({ category, stream, expected, site: SITE, actor: 'system', events: [event] });

  /** Fills partitions, so that those before the newest one can be removed. */
  async function fill(partitions = 3): Promise<void> {
    for (let added = 0; added < partitions; added += 1) {
      await keepPartitionsAhead(postgres, PARTITION_EVENTS);
      await Promise.all(Array.from({ length: PARTITION_EVENTS }, () => log.append(thing())));
    }
    await keepPartitionsAhead(postgres, PARTITION_EVENTS);
  }
  async function catchUp(except?: string): Promise<void> {
    for (const name of projections.names()) if (name !== except) await projections.catchUp(name);
  }
  const settings = readSettings({ LOG_RETENTION: '1d' });
  const holds = () => allHolds({ postgres, log, sites, projections, settings });
  const drop = async (sources: readonly HoldSource[] = holds(), olderThanMs = -60_000, on = postgres) => {
    const sign = await removalSigner(keys, new Checkpoints(postgres.pool, keys, settings.cell));
    const onMessage = (line: string) => messages.push(line);
    return dropExpiredPartitions(on, { olderThanMs, holds: sources, sign, onMessage });
  };

  it('removes old partitions when every reader has read them', async () => {
    await fill();
    await catchUp();
    expect(await drop()).toBe(3);
    expect(messages).toEqual([]);
    expect(await log.read({ until: 3 * PARTITION_EVENTS - 1 })).toEqual([]);
  });

  it('keeps the values of the filters of sites, which are personal parts', async () => {
    await execute(new AddSite('cli', SITE));
    const set = [
      { flag: 'block', value: 'jane@example.com' },
      { flag: 'block-ip', value: '192.0.2.0/24' },
    ];
    await execute(new ChangeSiteSettings('cli', SITE, { set, unset: [] }));
    const { settings: before } = await sites.get(SITE);
    expect([before.blocked, before.blockIps]).toEqual([[expect.any(String)], ['192.0.2.0/24']]);
    await fill();
    await catchUp();
    expect(await drop()).toBeGreaterThan(0);
    expect((await sites.get(SITE)).settings).toEqual(before);
  });

  it('remembers the removed streams with a derived id', async () => {
    const [derived, random] = [derivedUuid('line 1'), uuidv7()];
    for (const stream of [derived, random]) await log.append({ ...thing(stream), category: CONVERSION });
    const opened = { type: 'thing.happened.v1', id: expect.any(String) };
    expect(await log.findOpened(CONVERSION, [derived, random])).toEqual(
      new Map([
        [derived, opened],
        [random, opened],
      ]),
    );
    await fill();
    await catchUp();
    expect(await drop()).toBeGreaterThan(0);
    expect(await log.findOpened(CONVERSION, [derived, random])).toEqual(new Map([[derived, {}]]));
  });

  it('waits for a projection that is behind', async () => {
    await fill();
    await catchUp('totals');
    expect(await drop()).toBe(0);
    expect(messages).toEqual([expect.stringMatching(/^LOG_RETENTION waits: projection totals needs .* position 0,/)]);
    await projections.catchUp('totals');
    expect(await drop()).toBe(3);
  });

  it('waits for a parked projection until it continues', async () => {
    await fill();
    await catchUp();
    await postgres.pool.query(
      `UPDATE cc.projections SET parked = true, reason = 'event 1', position = 60 WHERE name = 'totals'`,
    );
    expect(await drop()).toBe(1);
    expect(messages.at(-1)).toMatch(
      /projection totals \(parked\) needs the events after position 60,.*event 1.*rebuild/,
    );
    await postgres.pool.query(`UPDATE cc.projections SET parked = false, reason = NULL WHERE name = 'totals'`);
    await projections.catchUp('totals');
    expect(await drop()).toBe(2);
  });

  it('waits until a parked projection has scheduled the deliveries that it has not folded', async () => {
    await fill();
    await catchUp();
    await postgres.pool.query(`UPDATE cc.projections SET parked = true, reason = 'event 1' WHERE name = 'deliveries'`);
    await log.append(thing());
    await expect(drop()).rejects.toThrow(/deliveries is parked/);
    expect(await log.read({ limit: 1 })).toMatchObject([{ position: 1 }]);
  });

  it('names several unsettled deliveries in the plural', async () => {
    for (const conversionId of [uuidv7(), uuidv7()]) {
      const outcome = { conversionId, platform: 'meta', bodySha256: 'ab'.repeat(32) } as const;
      await append(CONVERSION, conversionId, 0, received(conversionId));
      await append(CONVERSION, conversionId, 1, {
        type: 'conversion.deferred.v1',
        data: { ...outcome, status: 'deferred', attempt: 1, reason: 'throttled', nextTry: FUTURE },
      });
    }
    await fill();
    await catchUp();
    expect(await drop()).toBe(0);
    expect(messages.at(-1)).toContain(`2 unsettled deliveries to meta of ${SITE} need the events after position 0`);
  });

  it('waits for an unsettled delivery and keeps its conversion', async () => {
    const conversionId = uuidv7();
    const outcome = { conversionId, platform: 'meta', bodySha256: 'ab'.repeat(32) } as const;
    await append(CONVERSION, conversionId, 0, received(conversionId));
    await append(CONVERSION, conversionId, 1, {
      type: 'conversion.deferred.v1',
      data: { ...outcome, status: 'deferred', attempt: 1, reason: 'throttled', nextTry: FUTURE },
    });
    await fill();
    await catchUp();
    expect(await drop()).toBe(0);
    expect(messages.at(-1)).toContain(`1 unsettled delivery to meta of ${SITE} needs the events after position 0`);
    await append(CONVERSION, conversionId, 2, {
      type: 'conversion.delivered.v1',
      data: { ...outcome, status: 'delivered', attempt: 2 },
    });
    await catchUp();
    expect(await drop()).toBe(3);
  });

  it('waits for a reporting window that the receiver has not accepted', async () => {
    await execute(new AddSite('cli', SITE));
    await execute(new SetWebhook('cli', SITE, { url: 'https://hooks.example/', allowPrivate: false }));
    const { webhook } = await sites.get(SITE);
    await fill();
    await catchUp();
    expect(await drop()).toBe(0);
    expect(messages.at(-1)).toContain(
      `the webhook of ${SITE} needs the events after position ${webhook?.first.position}`,
    );
    const window = {
      stretchId: uuidv7(),
      fromPosition: webhook?.first.position as number,
      toPosition: await log.head(),
      windowStart: webhook?.first.time as string,
      windowEnd: webhook?.first.time as string,
      body: { conversions: 0, bot_traffic_removed: 0 },
    } satisfies ReportingWindow;
    await append(OUTBOUND, streamOf(SITE), 0, { type: 'outbound.closed.v1', data: window });
    await catchUp();
    expect(await drop()).toBe(0);
    const data = { ...window, attempt: 1, durationMs: 1 };
    await append(OUTBOUND, streamOf(SITE), 1, { type: 'outbound.delivered.v1', data });
    await catchUp();
    expect(await drop()).toBe(3);
  });

  it('does not wait for the webhook that an operator has disabled', async () => {
    await execute(new AddSite('cli', SITE));
    await execute(new SetWebhook('cli', SITE, { url: 'https://hooks.example/', allowPrivate: false }));
    await execute(new DisableWebhook('cli', SITE, 'HTTP 410'));
    await fill();
    await catchUp();
    expect(await drop()).toBe(0);
    expect(messages.at(-1)).toContain(`the disabled webhook of ${SITE} (HTTP 410)`);
    await execute(new DisableWebhook('cli', SITE));
    await catchUp();
    expect(await drop()).toBe(3);
    // The next window states that events are missing.
    const { webhook } = await sites.get(SITE);
    const incomplete = jest.fn();
    const options = { ...pusherOptions(settings, 'system', postgres.clock), incomplete };
    const httpClient = openHttpClient(settings);
    const pusher = new Pusher(log, { execute }, httpClient, options);
    const closed = await pusher.close(
      { site: SITE, webhook: webhook as SiteWebhook, hasMoved: false, secrets: undefined },
      undefined,
    );
    expect(closed?.data).toMatchObject({
      fromPosition: webhook?.first.position,
      removedUntil: 3 * PARTITION_EVENTS - 1,
    });
    expect(incomplete).toHaveBeenCalledWith(SITE, 3 * PARTITION_EVENTS - 1);
    await httpClient.close();
  });

  it.each([
    { lease: 'late-matches', holder: 'the scan for late matches' },
    { lease: 'deliveries-scan', holder: 'the scan for owed deliveries' },
  ])('waits for $holder', async ({ lease, holder }) => {
    await scannedTo(10, [lease]);
    await fill();
    await catchUp();
    expect(await drop()).toBe(0);
    expect(messages.at(-1)).toContain(`${holder} needs the events after position 10`);
    await scannedTo(await log.head(), [lease]);
    expect(await drop()).toBe(3);
  });

  it('waits for events that are not published to Kafka, while it is configured', async () => {
    await holdLog(postgres.pool, true);
    const checkpoints = new RelayProgressStore(postgres.pool, 't.');
    await checkpoints.load('one');
    await fill();
    await catchUp();
    expect(await drop()).toBe(0);
    expect(messages.at(-1)).toContain('the Kafka relay needs the events after position 0');
    await checkpoints.save('one', 60, new Map() as never);
    expect(await drop()).toBe(1);
    // Another cluster has its own progress.
    await checkpoints.moveHold((await checkpoints.load('two')).position);
    expect(await drop()).toBe(0);
    await holdLog(postgres.pool, false);
    expect(await drop()).toBe(2);
  });

  it('waits for an export in progress, and not after it', async () => {
    await fill();
    await catchUp();
    await withReaderHold(postgres, 'events export', 70, async (hold) => {
      expect(hold.removedUntil).toBe(0);
      expect(await drop()).toBe(1);
      expect(messages.at(-1)).toMatch(
        /events export needs the events after position 70, .* registered at .*Wait until/,
      );
    });
    expect(await drop()).toBe(2);
    expect((await postgres.pool.query('SELECT FROM cc.log_holds')).rowCount).toBe(0);
  });

  it('does not wait for a reader whose database session has ended, and that reader fails', async () => {
    await fill();
    await catchUp();
    const reading = withReaderHold(postgres, 'events export', 0, async () => {
      expect(await drop()).toBe(0);
      const { rows } = await postgres.pool.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE '%hold%'`,
      );
      const owner = await postgres.connectAsOwner('test');
      await owner.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
      await owner.end();
      await eventually(() => drop(), 3);
    });
    await expect(reading).rejects.toThrow(/the database session .* has ended/);
    expect((await postgres.pool.query('SELECT FROM cc.log_holds')).rowCount).toBe(0);
  });

  it('lets a reader that registers during a removal wait, and tells it what is gone', async () => {
    await fill();
    let reader: Promise<number> | undefined;
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const registering: HoldSource = async () => {
      if (reader) return [];
      reader = withReaderHold(postgres, 'history verify', 0, async ({ removedUntil }) => {
        await finished;
        return removedUntil;
      });
      await eventually(
        () => postgres.pool.query('SELECT FROM pg_locks WHERE NOT granted AND objid = $1', [RETENTION_LOCK]),
        { rowCount: 1 },
      );
      return [];
    };
    // The first partition was decided on before the reader registered; the second is kept for it.
    expect(await drop([registering])).toBe(1);
    expect(messages.at(-1)).toContain(`history verify needs the events after position ${PARTITION_EVENTS - 1}`);
    finish();
    expect(await reader).toBe(PARTITION_EVENTS - 1);
  });

  it('removes each partition once when several instances try at the same time', async () => {
    await execute(new AddSite('cli', SITE));
    await fill(4);
    await catchUp();
    const before = await log.read({ categories: ['site'] });
    const instances = await Promise.all(Array.from({ length: 4 }, () => openDatabase(databaseUrl)));
    const removals = instances.map((instance) => drop(holds(), -60_000, instance));
    const removed = await Promise.all(removals);
    expect(removed.reduce((sum, count) => sum + count, 0)).toBe(4);
    expect(messages).toEqual([]);
    expect(await log.read({ categories: ['site'] })).toEqual(before);
    for (const instance of instances) await instance.close();
  });

  it('records in the log what it removed, and keeps the hash chain verifiable', async () => {
    const many = Array.from({ length: 30 }, (_, index) => ({
      type: 'thing.happened.v1',
      data: { index },
      personal: { subject: 'ab'.repeat(32), phone: 'cd' },
    }));
    const [first, ...others] = many as unknown as [NewEvent, ...NewEvent[]];
    await execute(new AddSite('cli', SITE));
    // Batches across the borders of partitions, and one with an event that is kept.
    for (let round = 0; round < 6; round += 1) {
      await Promise.all([
        log.append(thing(uuidv7(), { events: [first, ...others] })),
        log.append(thing(uuidv7(), { category: 'site' })),
      ]);
      await keepPartitionsAhead(postgres, PARTITION_EVENTS);
    }
    const before = await log.read({ until: 3 * PARTITION_EVENTS - 1 });
    expect(await drop([])).toBe(3);
    const removals = await log.read({ categories: ['log'] });
    expect(removals.map(({ type, actor, data }) => ({ type, actor, data }))).toEqual(
      [0, 1, 2].map((partition) => {
        const gone = before.filter(({ position, stream }) => {
          return Math.floor(position / PARTITION_EVENTS) === partition && !stream.startsWith('site-');
        });
        return {
          type: 'log.partition_removed.v1',
          actor: 'system',
          data: {
            first: gone[0]?.position,
            last: gone.at(-1)?.position,
            events: gone.length,
            digest: expect.stringMatching(/^[0-9a-f]{64}$/),
            signature: expect.stringMatching(/^eyJ/),
          },
        };
      }),
    );
    const { rows } = await postgres.pool.query<{ whole: number; broken: number; removed: number }>(
      `SELECT count(*) FILTER (WHERE events = count AND digest = recomputed)::int AS whole,
              count(*) FILTER (WHERE events > 0 AND (events <> count OR digest <> recomputed))::int AS broken,
              count(*) FILTER (WHERE events = 0)::int AS removed
         FROM (SELECT s.count, s.digest, count(d.digest)::int AS events,
                      sha256(string_agg(d.digest, '' ORDER BY d.position)) AS recomputed
                 FROM cc.seals s LEFT JOIN (
                   SELECT position, digest FROM cc.removed_events
                   UNION ALL SELECT e.position, cc.event_digest(e.position, e.id, e.category, e.stream, e.version, e.type, e.site,
                     (extract(epoch FROM e.time) * 1000)::bigint, e.actor, e.reference, e.data,
                     CASE WHEN p.position IS NOT NULL THEN cc.personal_digest(p.salt, p.subject, p.data) END)
                     FROM cc.events e LEFT JOIN cc.personal p ON p.position = e.position) d
                   ON d.position BETWEEN s.first AND s.last
                GROUP BY s.last) sealed`,
    );
    const seals = await postgres.pool.query('SELECT FROM cc.seals');
    expect(rows[0]?.broken).toBe(0);
    expect((rows[0]?.whole as number) + (rows[0]?.removed as number)).toBe(seals.rowCount);
  });

  it('keeps what is not old, although the clock was behind for a moment', async () => {
    await fill(2);
    await catchUp();
    // As after a start without a time server: set back, and right again after one event.
    await postgres.pool.query(
      `INSERT INTO cc.clock_steps SELECT last, time, '2001-01-01' FROM cc.seals ORDER BY last DESC LIMIT 1`,
    );
    await fill(1);
    expect(await drop([], DAY_MS)).toBe(0);
    expect(await drop([])).toBe(3);
  });

  it('removes what was stored while the clock was ahead, when the time since it was set back has passed', async () => {
    await fill(1);
    const owner = await postgres.connectAsOwner('test');
    await owner.query(`ALTER TABLE cc.events DISABLE TRIGGER ALL; ALTER TABLE cc.events_0 DISABLE TRIGGER ALL;
      UPDATE cc.events SET time = time + interval '400 days'; UPDATE cc.seals SET time = time + interval '400 days';
      ALTER TABLE cc.events ENABLE TRIGGER ALL; ALTER TABLE cc.events_0 ENABLE TRIGGER ALL`);
    await owner.end();
    await fill(1);
    expect((await postgres.pool.query('SELECT FROM cc.clock_steps')).rowCount).toBe(1);
    expect(await drop([], DAY_MS)).toBe(0);
    expect(await drop([])).toBe(2);
  });

  it("removes nothing while this machine's clock and the database's differ", async () => {
    await fill();
    await catchUp();
    jest.spyOn(Date, 'now').mockReturnValue(Date.parse(FUTURE));
    try {
      expect(await drop(holds(), DAY_MS)).toBe(0);
    } finally {
      jest.restoreAllMocks();
    }
    expect(messages).toEqual([expect.stringMatching(/^LOG_RETENTION waits: the clocks .* differ by/)]);
  });
});

function received(conversionId: string): NewEvent {
  return {
    type: 'conversion.received.v1',
    data: {
      conversionId,
      event: 'purchase',
      currency: 'EUR',
      platforms: ['meta'],
      settings: 1,
      trial: false,
      matched: false,
      consent: 'unknown',
    },
    personal: { subject: 'ab'.repeat(32) },
  } as unknown as NewEvent;
}
