import type { ClientBase } from 'pg';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { readHead } from '../../src/log/event-reader.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { SiteCopyRefused, SiteForked } from '../../src/log/site-copy/site-copy-errors.js';
import { countSite } from '../../src/log/site-copy/site-pages.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { thing } from '../support/event-log.contract.js';
import { MAJOR_UNDER_TEST, startTestServer, type TestServer } from '../support/postgres-server.js';
import { openOperator, startTestService, type TestSite } from '../support/service.js';
import {
  begin,
  contentOf,
  copySite,
  inTransaction,
  makeHistory,
  readAll,
  readPages,
  run,
  storePage,
  storeRows,
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
    const { events, bytes } = await size();
    expect(await copySite(source, target, host)).toBe(events);
    const content = await contentOf(source, host);
    expect(content.length).toBe(events);
    expect(bytes).toBeGreaterThan(100 * events);
    expect(content.some(({ erased }) => erased !== null)).toBe(true);
    expect(content.some(({ salt }) => salt !== null)).toBe(true);
    expect(await contentOf(target, host)).toEqual(content);
    const tables = await tablesOf(source, host);
    for (const rows of Object.values(tables)) expect(rows.length).toBeGreaterThan(0);
    expect(await tablesOf(target, host)).toEqual(tables);
    expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
  });

  it('is stored once, however often it is sent, and by how many at the same time', async () => {
    const { events } = await size();
    await begin(source, target, host);
    const outcomes = await Promise.all(Array.from({ length: 4 }, () => store(page)));
    expect(outcomes.sort()).toEqual([0, 0, 0, events]);
    const head = await readHead(target.pool);
    expect(await copySite(source, target, host, 5)).toBe(0);
    expect(await readHead(target.pool)).toBe(head);
    expect(await contentOf(target, host)).toEqual(await contentOf(source, host));
  });

  it('is stored by two pages of different sizes at the same time, each event once', async () => {
    await begin(source, target, host);
    const rows = lines();
    await store(pageOf(...rows.slice(0, 5)));
    const both = await Promise.all([store(page), store(pageOf(...rows.slice(0, 12)))]);
    expect(both.reduce((sum, stored) => sum + stored, 0)).toBe(rows.length - 5);
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
      await storeRows(target, client, host, page);
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
    await storeRows(target, client, host, page);
    await end(client, rows[0]?.pid as number);
    await client.end().catch(() => {});
    expect(await readHead(target.pool)).toBe(before);
    expect(await tablesOf(target, host)).toEqual({ dedup: [], identifiers: [], consent: [] });
    const { events } = await size();
    expect(await store(page)).toBe(events);
    expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
  });

  it('is read in pages that lose nothing, whatever their size, and skips the events of other sites', async () => {
    for (const limit of [1, 3, 1_000]) {
      const parts = await readPages(source, host, limit);
      for (const part of parts) expect(part.toString().split('\n').length - 1).toBeLessThanOrEqual(limit);
      expect(Buffer.concat(parts)).toEqual(page);
      expect((await readPages(source, 'unknown.example', limit)).join('')).toBe('');
    }
  });

  describe('is refused', () => {
    beforeEach(async () => {
      await begin(source, target, host);
    });
    afterEach(async () => {
      expect(await contentOf(target, host)).toEqual([]);
      expect((await verified(targetUrl)).get('chain')).toMatchObject({ ok: true });
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

  it('does not keep the appends of other sites waiting longer than for a page', async () => {
    await begin(source, target, host);
    const log = new PostgresEventLog(target);
    const client = await target.connect('copy');
    client.on('error', () => {});
    await client.query('BEGIN');
    await storeRows(target, client, host, page);
    // The mover freezes before its commit: the database ends its transaction.
    expect(await log.append({ ...thing(), site: 'another.example' })).toMatchObject({ status: 'appended' });
    await expect(client.query('COMMIT')).rejects.toThrow();
    await client.end().catch(() => {});
    expect(await contentOf(target, host)).toEqual([]);
    await eventually(
      () => store(page),
      (stored) => stored > 0,
    );
    await log.close();
  });
});
