import type { ClientBase } from 'pg';
import { uuidv7 } from '../../src/kernel/uuid.js';
import type { NewEvent, StoredEvent } from '../../src/log/event.js';
import { readHead } from '../../src/log/event-reader.js';
import { leapBeyond, readJump } from '../../src/log/lineage.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { keepPartitionsAhead } from '../../src/log/retention/partitions.js';
import { readClaims, storeClaims } from '../../src/log/site-copy/site-claims.js';
import { countSite, findErased, readSiteCopy, storeSiteCopy } from '../../src/log/site-copy/site-copy.js';
import { SiteCopyRefused, SiteForked } from '../../src/log/site-copy/site-copy-errors.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { thing } from '../support/event-log.contract.js';
import { MAJOR_UNDER_TEST, startTestServer, type TestServer } from '../support/postgres-server.js';
import { openOperator, startTestService, type TestSite } from '../support/service.js';
import {
  arrive,
  begin,
  close,
  contentOf,
  copySite,
  INLINE,
  inTransaction,
  makeHistory,
  open,
  readAll,
  run,
  storePage,
  tablesOf,
  verified,
} from '../support/site-copies.js';
import { eventually } from '../support/waiting.js';

describe('a site copied to another log', () => {
  /** Has the source, if the run is on another version of PostgreSQL. */
  let embedded: TestServer | undefined;
  let sourceUrl: string;
  let source: Postgres;
  let site: TestSite;
  let host: string;
  let targetUrl: string;
  let target: Postgres;
  let page: Buffer;

  beforeAll(async () => {
    if (MAJOR_UNDER_TEST !== undefined) embedded = await startTestServer({ embedded: true });
    sourceUrl = await createDatabase(embedded);
    const operator = await openOperator(sourceUrl);
    const service = await startTestService(sourceUrl);
    await operator.openSite();
    site = await operator.openSite();
    host = site.host;
    await makeHistory(service, site, sourceUrl).finally(() => service.stop());
    await operator.close();
    source = await openDatabase(sourceUrl);
    page = await readAll(source, host);
  });
  afterAll(async () => {
    await source?.close();
    await embedded?.stop();
  });
  beforeEach(async () => {
    targetUrl = await createDatabase();
    target = await openDatabase(targetUrl);
    // A site that stays, with a host that sorts before and an order with the same id.
    await run(targetUrl, 'sites', 'add', 'another.example');
  });
  afterEach(() => target?.close());

  const size = () => source.read((client) => countSite(client, host));
  const lines = () => page.toString().split('\n').slice(0, -1);
  const pageOf = (...rows: string[]) => Buffer.from(rows.map((row) => `${row}\n`).join(''));
  const asOwner = async (text: string, values: unknown[] = []) => {
    const owner = await target.connectAsOwner('test');
    await owner.query(text, values).finally(() => owner.end());
  };
  const store = (rows: Buffer) => storePage(target, host, rows);

  it('has the same events, personal parts, digests, claims and inline rows, in one chain', async () => {
    const { events, bytes, claims } = await size();
    expect(await copySite(source, target, host)).toEqual({ stored: events, present: 0, erased: [] });
    const content = await contentOf(source, host);
    expect(content.length).toBe(events);
    expect(bytes).toBeGreaterThan(100 * events);
    expect(content.some(({ erased }) => erased !== null)).toBe(true);
    expect(content.some(({ salt }) => salt !== null)).toBe(true);
    expect(await contentOf(target, host)).toEqual(content);
    const tables = await tablesOf(source, host);
    for (const rows of Object.values(tables)) expect(rows.length).toBeGreaterThan(0);
    expect(tables.dedup.length).toBe(claims);
    expect(await tablesOf(target, host)).toEqual(tables);
    expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
  });

  it('is stored once, however often it is sent, and by how many at the same time', async () => {
    const { events } = await size();
    await begin(source, target, host);
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => store(page)));
    expect(outcomes.map(({ stored }) => stored).sort()).toEqual([0, 0, 0, events]);
    expect(outcomes.map(({ stored, present }) => stored + present)).toEqual(Array(4).fill(events));
    const head = await readHead(target.pool);
    expect(await copySite(source, target, host, 5)).toEqual({ stored: 0, present: events, erased: [] });
    expect(await readHead(target.pool)).toBe(head);
    expect(await contentOf(target, host)).toEqual(await contentOf(source, host));
  });

  it('is stored by two pages of different sizes at the same time, each event once', async () => {
    await begin(source, target, host);
    const rows = lines();
    await store(pageOf(...rows.slice(0, 5)));
    const both = await Promise.all([store(page), store(pageOf(...rows.slice(0, 12)))]);
    expect(both.reduce((sum, { stored }) => sum + stored, 0)).toBe(rows.length - 5);
    expect(await contentOf(target, host)).toEqual(await contentOf(source, host));
    expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
  });

  it('is stored by the login of the service, which may not change events', async () => {
    await begin(source, target, host);
    await inTransaction(target, async (client) => {
      const { rows } = await client.query(
        `SELECT current_user <> 'cc_service' AND has_table_privilege('cc.events', 'INSERT') AS may,
                has_table_privilege('cc.events', 'UPDATE') OR has_table_privilege('cc.log_partitions', 'INSERT') AS more`,
      );
      expect(rows).toEqual([{ may: expect.any(Boolean), more: false }]);
      await storeSiteCopy(client, host, page, INLINE);
    });
    expect(await contentOf(target, host)).toEqual(await contentOf(source, host));
  });

  it.each<[string, (client: ClientBase, pid: number) => Promise<unknown>]>([
    ['before the commit', (_, pid) => asOwner('SELECT pg_terminate_backend($1)', [pid])],
    ['and was rolled back', (client) => client.query('ROLLBACK')],
  ])('has nothing of a page whose transaction ended %s, and all of it after another attempt', async (_, end) => {
    await begin(source, target, host);
    const before = await readHead(target.pool);
    const client = await target.connect('copy');
    client.on('error', () => {});
    await client.query('BEGIN');
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await storeSiteCopy(client, host, page, INLINE);
    await end(client, rows[0]?.pid as number);
    await client.end().catch(() => {});
    expect(await readHead(target.pool)).toBe(before);
    expect(await tablesOf(target, host)).toEqual({ dedup: [], identifiers: [], consent: [] });
    const { events } = await size();
    expect(await store(page)).toMatchObject({ stored: events, present: 0 });
    expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
  });

  it('is read in pages that lose nothing, whatever their size, and skips the events of other sites', async () => {
    for (const limit of [1, 3, 1_000]) {
      const parts: Buffer[] = [];
      await source.read(async (client) => {
        for (let after = 0, isLast = false; !isLast; ) {
          const part = await readSiteCopy(client, host, after, limit);
          expect(part.count).toBe(part.rows.toString().split('\n').length - 1);
          expect(part.count === limit || part.isLast || part.rows.includes('visitor.erased.v1')).toBe(true);
          parts.push(part.rows);
          ({ last: after, isLast } = part);
        }
        expect(await readSiteCopy(client, 'unknown.example', 0, limit)).toMatchObject({ count: 0, isLast: true });
      });
      expect(Buffer.concat(parts)).toEqual(page);
    }
  });

  describe('is refused', () => {
    let before: number;

    beforeEach(async () => {
      await begin(source, target, host);
      before = await readHead(target.pool);
    });
    afterEach(async () => {
      expect(await contentOf(target, host)).toEqual([]);
      expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
    });

    it('unless it is closed', async () => {
      await open(target, host);
      await expect(store(page)).rejects.toThrow(`The copied events are refused: ${host} is not closed here.`);
      await target.pool.query('INSERT INTO cc.paused_sites (site) VALUES ($1)', [host]);
      await expect(store(page)).rejects.toThrow(SiteCopyRefused);
    });

    it('if the database cannot read what one of its events holds', async () => {
      const index = lines().findIndex((line) => line.includes('A-2'));
      const changed = lines().map((line, at) => (at === index ? line.replaceAll('A-2', 'A\\\\u0000') : line));
      expect(changed).not.toEqual(lines());
      await expect(store(pageOf(...changed))).rejects.toThrow(SiteCopyRefused);
    });

    it('if this log has its stream for another site', async () => {
      const log = new PostgresEventLog(target);
      const index = lines().findIndex((line) => line.includes('conversion.received'));
      const { rows } = await source.pool.query<{ stream: string; id: string }>(
        `SELECT stream, id FROM cc.events WHERE type = 'conversion.received.v1' ORDER BY position LIMIT 1`,
      );
      await log.append({ ...thing(rows[0]?.stream), category: 'conversion', site: 'another.example' });
      await log.close();
      await expect(store(pageOf(...lines().slice(0, index + 1)))).rejects.toThrow(/for another site/);
      // With another version, so that nothing is in its place.
      const second = lines().map((line) => line.split('\t'));
      for (const fields of second) if (fields[3] === rows[0]?.stream) fields[4] = String(Number(fields[4]) + 1);
      await expect(store(pageOf(...second.map((fields) => fields.join('\t'))))).rejects.toThrow(/for another site/);
    });

    it('if its positions are not before those of this log', async () => {
      const [first] = lines() as [string];
      const beyond = first.replace(/^\d+/, String(before + 10_000_000_000));
      await expect(store(pageOf(beyond))).rejects.toThrow(/positions that this log has not reached/);
    });

    it('if a stream has a gap', async () => {
      const site = lines().filter((line) => line.includes('\tsite.'));
      await expect(store(pageOf(...site.slice(1)))).rejects.toThrow(SiteForked);
    });
  });

  it('is not stored beyond a fork, which is named', async () => {
    await begin(source, target, host);
    await store(pageOf(...lines().slice(0, 3)));
    const [, , third] = (await contentOf(target, host)) as { id: string; stream: string; version: number }[];
    const forked = (lines()[2] as string).replace(third?.id as string, uuidv7());
    const error = await store(pageOf(...lines().slice(0, 2), forked, ...lines().slice(3))).catch((caught) => caught);
    expect(error).toBeInstanceOf(SiteForked);
    expect(error).toMatchObject({ stream: third?.stream, version: third?.version, here: third?.id });
    expect(await contentOf(target, host)).toHaveLength(3);
  });

  it('keeps the order of its events, also of one that arrives after later ones', async () => {
    await begin(source, target, host);
    const last = lines().findLastIndex((line) => line.includes('conversion.received'));
    const [rest, late] = [lines().filter((_, at) => at !== last), lines()[last] as string];
    // The stream of the late one ends with it.
    const stream = late.split('\t')[3] as string;
    await store(pageOf(...rest.filter((line) => !line.includes(stream))));
    // The site was open here meanwhile.
    await arrive(target, host, 'a', 1);
    await close(target, host);
    await store(pageOf(...lines().filter((line) => line.includes(stream))));
    const { rows } = await target.pool.query<{ position: string; place: string; copied: boolean }>(
      `SELECT position, coalesce(origin, position) AS place, origin IS NOT NULL AS copied FROM cc.events WHERE site = $1 ORDER BY position`,
      [host],
    );
    const places = rows.map(({ place }) => Number(place));
    expect(places).toEqual(places.toSorted((one, other) => one - other));
    expect(rows.at(-1)).toMatchObject({ place: rows.at(-1)?.position, copied: true });
    expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
  });

  it('gives an event that arrives after the end of a reporting window a place after it', async () => {
    await begin(source, target, host);
    const last = lines().findLast((line) => line.includes('conversion.received')) as string;
    const stream = last.split('\t')[3] as string;
    await store(pageOf(...lines().filter((line) => !line.includes(stream))));
    await arrive(target, host, 'a', 1);
    await run(targetUrl, 'sites', 'add', 'between.example');
    const head = await readHead(target.pool);
    // Closes a window up to the head of the log. Its receiver does not answer.
    await run(targetUrl, 'webhook', 'push', '--site', host).catch(() => {});
    const ends = await target.pool.query<{ end: number }>(
      `SELECT (data ->> 'toPosition')::float8 AS end FROM cc.events
        WHERE site = $1 AND category = 'outbound' ORDER BY position DESC LIMIT 1`,
      [host],
    );
    expect(ends.rows).toEqual([{ end: head }]);
    await close(target, host);
    // The other log was open again, and stored it at a position within the window.
    await store(pageOf(last.replace(/^\d+/, String(head))));
    const { rows } = await target.pool.query<{ place: number }>(
      'SELECT coalesce(origin, position)::float8 AS place FROM cc.events WHERE stream = $1',
      [stream],
    );
    expect(rows).toEqual([{ place: await readHead(target.pool) }]);
  });

  it('names the people who were erased where it comes from after they were copied', async () => {
    const copyUrl = await createDatabase(embedded);
    const middle = await openDatabase(copyUrl);
    await copySite(source, middle, host);
    await copySite(middle, target, host);
    await open(middle, host);
    await run(copyUrl, 'visitors', 'erase', '--site', host, '--email', 'jane@example.com');
    const erased = await middle.read((client) => readSiteCopy(client, host, 0, 1_000, { erased: true }));
    expect(erased.count).toBeGreaterThan(0);
    const positions = erased.rows
      .toString('utf8')
      .trimEnd()
      .split('\n')
      .map((line) => Number(line.split('\t')[0]));
    for (const until of [positions[0] as number, (positions[0] as number) - 1]) {
      const options = { erased: true, until };
      const bounded = await middle.read((client) => readSiteCopy(client, host, 0, 1_000, options));
      expect(bounded).toMatchObject({ count: positions.filter((position) => position <= until).length, isLast: true });
      expect(bounded.last).toBeLessThanOrEqual(until);
    }
    const stored = await store(erased.rows);
    expect(stored).toMatchObject({ stored: 0, present: erased.count });
    const { rows } = await target.pool.query<{ subject: string }>(
      `SELECT DISTINCT encode(subject, 'hex') AS subject FROM cc.personal WHERE site = $1`,
      [host],
    );
    const known = rows.map(({ subject }) => subject);
    expect(stored.erased.length).toBeGreaterThan(0);
    expect(known).toEqual(expect.arrayContaining([...stored.erased]));
    // The event that states the erasure is new.
    expect(await copySite(middle, target, host)).toMatchObject({ stored: 1 });
    await middle.close();
  });

  it('keeps the claim of an order that was reopened before its person was erased where it comes from', async () => {
    const copyUrl = await createDatabase(embedded);
    const middle = await openDatabase(copyUrl);
    await copySite(source, middle, host);
    await open(middle, host);
    const log = new PostgresEventLog(middle);
    const [received] = await log.find(host, 'A-2');
    const { data, personal } = received as StoredEvent<'conversion.received.v1'>;
    const { conversionId } = data;
    const reopening = { conversionId, platform: 'meta', attempt: 0, by: 1, consent: 'unknown', trial: false };
    const reopened = { type: 'conversion.reopened.v1', data: reopening, personal } as const;
    await log.append({
      ...{ category: 'conversion', stream: conversionId, expected: 'any', site: host, actor: 'system' },
      events: [reopened as NewEvent],
    });
    await log.close();
    await run(copyUrl, 'visitors', 'erase', '--site', host, '--email', 'jane@example.com');
    const { rows } = await middle.read((client) => readSiteCopy(client, host, 0, 1_000, { erased: true }));
    expect(rows.toString()).toContain('conversion.reopened.v1');
    const { claimed } = await inTransaction(target, (client) => findErased(client, host, rows));
    expect(claimed.length).toBeGreaterThan(0);
    expect(claimed).not.toContain(conversionId);
    await middle.close();
  });

  it('has its dedup claims, of which the later one counts', async () => {
    await close(target, host);
    const claims = await source.read((client) => readClaims(client, host, { limit: 1_000 }));
    const { rows } = await source.pool.query<{ key: string; at: Date }>(
      'SELECT key, at FROM cc.dedup WHERE site = $1 ORDER BY key LIMIT 2',
      [host],
    );
    const [earlier, later] = rows as [(typeof rows)[0], (typeof rows)[0]];
    for (const [{ key, at }, difference] of [
      [earlier, '-1 hour'],
      [later, '1 hour'],
    ] as const)
      await target.pool.query(
        'INSERT INTO cc.dedup VALUES ($1, $2, gen_random_uuid(), false, $3::timestamptz + $4::interval)',
        [host, key, at, difference],
      );
    const storeAll = (text: Buffer) => inTransaction(target, (client) => storeClaims(client, host, text));
    expect(await storeAll(claims.rows)).toBe(claims.count - 1);
    expect(await storeAll(claims.rows)).toBe(0);
    const [expected, found] = [(await tablesOf(source, host)).dedup, (await tablesOf(target, host)).dedup];
    expect(found.filter(({ key }) => key !== later.key)).toEqual(expected.filter(({ key }) => key !== later.key));
    const newer = await source.read((client) => readClaims(client, host, { limit: 1_000, since: later.at }));
    expect(newer.rows.toString()).toContain(later.key);
    for (const change of ['infinity', '253402300800000', '-1', '\\N'])
      await expect(storeAll(Buffer.from(claims.rows.toString().replace(/\t\d+\n/, `\t${change}\n`)))).rejects.toThrow(
        SiteCopyRefused,
      );
    await expect(storeAll(Buffer.concat([claims.rows, claims.rows]))).rejects.toThrow(/occurs twice/);
    const [stream, key] = [uuidv7(), uuidv7()];
    const claimOf = (text: string, atMs: number) => `${text}\t${stream}\tf\t${atMs}\n`;
    const inBothCases = claimOf(key, 1_000) + claimOf(key.toUpperCase(), 1_000);
    await expect(storeAll(Buffer.from(inBothCases))).rejects.toThrow(/occurs twice/);
    expect(await storeAll(Buffer.from(claimOf(key, Date.UTC(9_999, 0, 1))))).toBe(1);
    const capped = await target.pool.query('SELECT at <= clock_timestamp() AS capped FROM cc.dedup WHERE key = $1', [
      key,
    ]);
    expect(capped.rows).toEqual([{ capped: true }]);
    await open(target, host);
    await expect(storeAll(claims.rows)).rejects.toThrow(/is not closed here/);
  });

  it('lets positions continue beyond those of the other log, in a transaction of its own', async () => {
    const leap = (position: number) => target.read((client) => leapBeyond(client, position));
    // Less than a failover, which continues beyond it if it is lost.
    expect(await leap(5)).toBe(200_000_000);
    // Also by two at the same time.
    expect((await Promise.all([leap(4_210_000_000), leap(4_210_000_000)])).filter(Boolean)).toEqual([4_400_000_000]);
    expect(await leap(4_300_000_000)).toBeUndefined();
    expect(await leap(4_301_000_000)).toBe(4_500_000_000);
    // The own positions would be out of reach of others.
    for (const wrong of [105_000_000_000, 1e15])
      await expect(leap(wrong)).rejects.toThrow(/states position \d+.* Run "history verify" there/);
    await expect(inTransaction(target, (client) => leapBeyond(client, 9_000_000_000))).rejects.toThrow(/transaction/);
    for (const position of [-1, Number.NaN, 1e16, Number.POSITIVE_INFINITY])
      await expect(leap(position)).rejects.toThrow();
    await run(targetUrl, 'sites', 'add', 'later.example');
    expect(await readHead(target.pool)).toBe(4_500_000_000);
    expect(await keepPartitionsAhead(target)).toMatchObject({ ahead: 2 });
    // A crash may keep the sequence and lose the partition.
    await asOwner(`SELECT setval('cc.event_position', 9000000007)`);
    expect(await keepPartitionsAhead(target)).toMatchObject({ ahead: 2, partitions: expect.any(Number) });
    await run(targetUrl, 'sites', 'add', 'even-later.example');
    expect(await readHead(target.pool)).toBe(9_000_000_008);
    const { rows } = await target.pool.query('SELECT FROM cc.log_partitions');
    expect(rows.length).toBeLessThan(20);
    // That is no failover, whose losses would be looked for.
    expect(await readJump(target.pool)).toBeUndefined();
    expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
  });

  it('continues beyond a leap that a failover has lost', async () => {
    const before = await readHead(target.pool);
    const start = (await target.read(async (client) => leapBeyond(client, await readHead(source.pool)))) as number;
    expect(start).toBeGreaterThan(before);
    // A standby that had not received it, on another timeline.
    await asOwner(`SELECT setval('cc.event_position', $1)`, [before]);
    await asOwner(`UPDATE cc.lineage SET timeline = '00000000'`);
    await run(targetUrl, 'sites', 'add', 'later.example');
    expect(await readHead(target.pool)).toBeGreaterThan(start + 100_000_000);
  });

  it('does not keep the appends of other sites waiting longer than for a page', async () => {
    await begin(source, target, host);
    const log = new PostgresEventLog(target);
    const client = await target.connect('copy');
    client.on('error', () => {});
    await client.query('BEGIN');
    await storeSiteCopy(client, host, page, INLINE);
    // The mover freezes before its commit: the database ends its transaction.
    expect(await log.append({ ...thing(), site: 'another.example' })).toMatchObject({ status: 'appended' });
    await expect(client.query('COMMIT')).rejects.toThrow();
    await client.end().catch(() => {});
    expect(await contentOf(target, host)).toEqual([]);
    await eventually(
      () => store(page),
      ({ stored }) => stored > 0,
    );
    await log.close();
  });
});
