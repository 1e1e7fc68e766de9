import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { readHead } from '../../src/log/event-reader.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { keepPartitionsAhead } from '../../src/log/retention/partitions.js';
import { dropExpiredPartitions } from '../../src/log/retention/retention.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { DAY_MS, thing } from '../support/event-log.contract.js';
import { temporaryFolder } from '../support/folders.js';
import {
  conversionId,
  openOperator,
  post,
  startTestService,
  type TestService,
  type TestSite,
} from '../support/service.js';
import {
  arrive,
  contentOf,
  copySite,
  type Finding,
  leave,
  makeHistory,
  run,
  tablesOf,
  verified,
} from '../support/site-copies.js';
import { createSmallPartitions } from '../support/small-partitions.js';
import { eventually } from '../support/waiting.js';

const folder = temporaryFolder('cc-copied-log-');
const purchase = (orderId: string) => ({
  email: 'jane@example.com',
  event: 'purchase',
  value: 10,
  currency: 'EUR',
  orderId,
});

describe('a log with the events of a site of another one', () => {
  let urls: { source: string; target: string };
  let source: Postgres;
  let target: Postgres;
  let site: TestSite;
  let busy: TestSite;
  let service: TestService;

  beforeAll(async () => {
    urls = { source: await createDatabase(), target: await createDatabase() };
    const operator = await openOperator(urls.source);
    const first = await startTestService(urls.source);
    await operator.openSite();
    site = await operator.openSite();
    await makeHistory(first, site, urls.source).finally(() => first.stop());
    await operator.close();
    const other = await openOperator(urls.target);
    busy = await other.openSite();
    await other.close();
    source = await openDatabase(urls.source);
    target = await openDatabase(urls.target);
    // Everything that tails the log runs during the copy.
    service = await startTestService(urls.target);
    let isCopied = false;
    const orders = async () => {
      for (let order = 1; !isCopied; order += 1) await post(service, busy, purchase(`BUSY-${order}`));
    };
    const copy = copySite(source, target, site.host, 3).finally(() => {
      isCopied = true;
    });
    await Promise.all([copy, orders()]);
    await leave(source, site.host, 'b', 1);
    expect(await copySite(source, target, site.host)).toBe(1);
    await arrive(target, site.host, 'a', 1);
    await service.refreshSites();
  });
  afterAll(async () => {
    await service?.stop();
    await source?.close();
    await target?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const caughtUp = (url: string) =>
    eventually(
      async () => JSON.parse(await run(url, 'projections', 'status', '--json')) as { lag: number; state: string }[],
      (list) => list.every(({ lag, state }) => lag === 0 && state === 'running'),
    );
  const failuresIn = (report: Map<string, Finding>) => [...report.values()].filter(({ ok }) => !ok);
  const failures = async (url: string) => failuresIn(await verified(url));

  it('accepts what continues there, and recognises what was sent to the other', async () => {
    expect((await post(service, site, purchase('A-2'))).body).toContain('"deduped":true');
    const reply = await post(service, site, purchase('NEW-1'));
    expect(reply.status).toBe(200);
    expect(conversionId(reply)).toMatch(/-/);
  });

  it('passes every check', async () => {
    await caughtUp(urls.target);
    const report = await verified(urls.target);
    expect(failuresIn(report)).toEqual([]);
    expect(await failures(urls.source)).toEqual([]);
  });

  it('passes every check after every projection was rebuilt', async () => {
    const before = await tablesOf(target, site.host);
    await run(urls.target, 'projections', 'rebuild', '--all');
    expect(await tablesOf(target, site.host)).toEqual(before);
    await caughtUp(urls.target);
    expect(await failures(urls.target)).toEqual([]);
  });

  it('is exported, and the chain is recomputed elsewhere', async () => {
    const [events, seals] = [join(folder, 'events.ndjson'), join(folder, 'seals.ndjson')];
    await run(urls.target, 'events', 'export', '--out', events);
    writeFileSync(seals, await run(urls.target, 'history', 'seals'));
    const output = execFileSync(process.execPath, ['docs/verify-chain.mjs', events, seals], { encoding: 'utf8' });
    expect(output).toMatch(/^[1-9]\d* events in [1-9]\d* batches were recomputed/);
    expect(output).not.toContain('VIOLATION');
  });

  it('continues at its own time after an event whose time has not come, from a log whose clock was ahead', async () => {
    const url = await createDatabase();
    const one = await openDatabase(url);
    await run(url, 'sites', 'add', 'ahead.example');
    const owner = await one.connectAsOwner('test');
    await owner.query('SET session_replication_role = replica');
    await owner.query(`UPDATE cc.events SET time = now() + interval '400 days' WHERE site = 'ahead.example'`);
    await owner.end();
    const middleUrl = await createDatabase();
    const before = await openDatabase(middleUrl);
    await copySite(one, before, 'ahead.example');
    await before.close();
    const middle = await openDatabase(middleUrl);
    const log = new PostgresEventLog(middle);
    expect(middle.clock.refusal()).toBeUndefined();
    expect(await log.append({ ...thing(), site: 'other.example' })).toMatchObject({ status: 'appended' });
    const { rows } = await middle.pool.query('SELECT FROM cc.clock_steps');
    expect(rows).toEqual([]);
    await log.close();
    await one.close();
    await middle.close();
  });

  it('passes every check when the site returns with what it got meanwhile', async () => {
    await leave(target, site.host, 'a', 2);
    const before = await contentOf(source, site.host);
    const back = await copySite(target, source, site.host, 4);
    expect(back).toBe((await contentOf(target, site.host)).length - before.length);
    expect(await contentOf(source, site.host)).toEqual(await contentOf(target, site.host));
    await arrive(source, site.host, 'b', 2);
    const again = await startTestService(urls.source);
    await caughtUp(urls.source);
    expect((await post(again, site, purchase('NEW-1'))).body).toContain('"deduped":true');
    await caughtUp(urls.source);
    await again.stop();
    expect(await failures(urls.source)).toEqual([]);
    expect(await failures(urls.target)).toEqual([]);
  });
});

describe('retention of copied events', () => {
  it('counts their age from the copy, and leaves a chain that verifies', async () => {
    const [oldUrl, url] = [await createDatabase(), await createDatabase()];
    const [one, other] = [await openDatabase(oldUrl), await openDatabase(url)];
    await run(oldUrl, 'sites', 'add', 'old.example');
    const owner = await one.connectAsOwner('test');
    await owner.query('SET session_replication_role = replica');
    await owner.query(`UPDATE cc.events SET time = time - interval '100 days' WHERE site = 'old.example'`);
    await owner.end();
    await createSmallPartitions(other, 20);
    await copySite(one, other, 'old.example');
    const copied = await readHead(other.pool);
    const log = new PostgresEventLog(other);
    const append = () => log.append({ ...thing(), site: 'other.example' });
    // So that the copied events are the newest of their partition.
    for (let number = 0; number < 20; number += 1) {
      await keepPartitionsAhead(other, 20);
      await append();
    }
    const left = async () =>
      (
        await other.pool.query(
          'SELECT first::float8, thinned FROM cc.log_partitions WHERE first <= $1 ORDER BY first',
          [copied],
        )
      ).rows;
    const drop = (olderThanMs: number) =>
      dropExpiredPartitions(other, { sign: async () => 'x', holds: [], onMessage: () => {}, olderThanMs });
    // Only the empty ones.
    await drop(DAY_MS);
    expect(await left()).toEqual([{ first: 0, thinned: false }]);
    await drop(-DAY_MS);
    expect(await left()).toEqual([{ first: 0, thinned: true }]);
    const rows = await contentOf(other, 'old.example');
    // Those of the site itself are kept.
    expect(rows.length).toBe((await contentOf(one, 'old.example')).length);
    await log.close();
    await one.close();
    await other.close();
  });

  it('does not store them again when the site comes back after their partitions were removed', async () => {
    const [url, otherUrl] = [await createDatabase(), await createDatabase()];
    const [one, other] = [await openDatabase(url), await openDatabase(otherUrl)];
    const host = 'back.example';
    const [log, otherLog] = [new PostgresEventLog(one), new PostgresEventLog(other)];
    await createSmallPartitions(one, 20);
    const receive = async (into: PostgresEventLog, count: number) => {
      for (let index = 0; index < count; index += 1) {
        await keepPartitionsAhead(one, 20);
        const data = { conversionId: uuidv7(), event: 'purchase', value: 1, currency: 'EUR', keyId: uuidv7() };
        const stream = { category: 'conversion', stream: data.conversionId, site: host, actor: 'system' } as const;
        const event = { type: 'conversion.received.v1', data: { ...data, trial: false, platforms: [] } } as const;
        await into.append({ ...stream, expected: 'new', events: [event] });
      }
    };
    await run(url, 'sites', 'add', host);
    await receive(log, 50);
    await leave(one, host, 'b', 1);
    const { length } = await contentOf(one, host);
    expect(await copySite(one, other, host)).toBe(length);
    await arrive(other, host, 'a', 1);
    await receive(otherLog, 5);
    await leave(other, host, 'a', 2);
    await log.append({ ...thing(), site: 'other.example' });
    await dropExpiredPartitions(one, { sign: async () => 'x', holds: [], onMessage: () => {}, olderThanMs: -DAY_MS });
    const left = await contentOf(one, host);
    expect(left.length).toBeLessThan(length - 30);
    // What the site got meanwhile, in the same order.
    await keepPartitionsAhead(one, 20);
    expect(await copySite(other, one, host)).toBe(7);
    const places = async (postgres: Postgres) => (await contentOf(postgres, host)).slice(-7).map(({ id }) => id);
    expect(await places(one)).toEqual(await places(other));
    expect(await copySite(other, one, host)).toBe(0);
    for (const each of [log, otherLog]) await each.close();
    for (const each of [one, other]) await each.close();
  });
});
