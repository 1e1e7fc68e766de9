import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DiagnosticSeverity, Parser } from '@asyncapi/parser';
import { jest } from '@jest/globals';
import { Ajv } from 'ajv';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { load } from 'js-yaml';
import { Client } from 'pg';
import { runCli } from '../src/cli/run-cli.js';
import { replayEvents } from '../src/history/replay-events.js';
import type { StoredEvent } from '../src/log/event.js';
import { EventLog } from '../src/log/event-log.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { Collector } from './support/collector.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { type LooseEvent, loosely } from './support/loose-event.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually, type Reply, send, startTestService, type TestService } from './support/service.js';

jest.setTimeout(180_000);

const SITE = 'shop.example';
const folder = mkdtempSync(join(tmpdir(), 'cc-history-'));
chmodSync(folder, 0o755);

let server: TestServer;
let service: TestService;
let sandbox: Awaited<ReturnType<Sandbox['start']>>;
let environment: Record<string, string>;
let owner: Client;
let key: string;

beforeAll(async () => {
  server = await startTestServer();
  const databaseUrl = await createDatabase(server);
  environment = { DATABASE_URL: databaseUrl, SECRET_KEY: randomBytes(32).toString('hex') };
  sandbox = await new Sandbox().start();
  await json('sites', 'add', SITE);
  await json('inbound', 'enable', SITE);
  await json('sites', 'set', SITE, '--block', '@blocked.example');
  for (const [platform, ...set] of [
    ['meta', 'pixel_id=1234567890', 'access_token=a'],
    ['segment', 'write_key=w', 'events=purchase,lead'],
  ]) {
    const settings = set.flatMap((setting) => ['--set', setting]);
    const endpoint = `${sandbox.url}/${platform}`;
    await json('platforms', 'connect', platform as string, '--site', SITE, ...settings, '--endpoint', endpoint);
  }
  key = (await json('keys', 'create', '--site', SITE, '--name', 'Shop')).key;
  const trialKey = (await json('keys', 'create', '--site', SITE, '--name', 'Try', '--trial')).key;
  service = await startTestService(databaseUrl, environment);
  for (let order = 1; order <= 6; order += 1) await post({ orderId: `ORD-${order}`, value: order });
  await post({ orderId: 'ORD-1', value: 99 });
  await post({ email: 'bob@blocked.example', orderId: 'ORD-B' });
  await post({ event: 'signup', orderId: 'ORD-S' });
  await post({ orderId: 'ORD-T' }, trialKey);
  await post({ orderId: 'ORD-1' }, 'cc_wrong');
  owner = new Client({ connectionString: databaseUrl });
  await owner.connect();
  await eventually(
    () => json('projections', 'status'),
    (list: { lag: number }[]) => list.every(({ lag }) => lag === 0),
  );
});

afterAll(async () => {
  await owner?.end();
  await service?.stop();
  await sandbox?.stop();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('events export', () => {
  it('gives the same events as a file of lines, as csv and as Parquet', async () => {
    const all = await lines('events', 'export');
    expect(all.length).toBeGreaterThan(20);
    expect(all.map(({ position }) => position)).toEqual([...all.map(({ position }) => position)].sort((a, b) => a - b));
    expect(JSON.stringify(all)).not.toContain('"hash"');
    const log = await readLog();
    expect(all.filter(({ type }) => type !== 'site.key_issued.v1')).toEqual(
      log.filter(({ type }) => type !== 'site.key_issued.v1'),
    );

    const file = join(folder, 'events.parquet');
    expect(await json('events', 'export', '--format', 'parquet', '--out', file)).toEqual({
      file,
      format: 'parquet',
      events: all.length,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await readParquet(file)).toEqual(all);

    const text = join(folder, 'events.ndjson');
    await json('events', 'export', '--out', text);
    expect(
      readFileSync(text, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(all);
  });

  it('filters in every format', async () => {
    const file = join(folder, 'received.parquet');
    const filters = ['--type', 'conversion.received.v1', '--site', SITE];
    const wanted = await lines('events', 'export', ...filters);
    expect(wanted).toHaveLength(8);
    await json('events', 'export', ...filters, '--format', 'parquet', '--out', file);
    expect(await readParquet(file)).toEqual(wanted);
    const order = join(folder, 'order.parquet');
    await json('events', 'export', '--order', 'ORD-1', '--format', 'parquet', '--out', order);
    expect(await readParquet(order)).toEqual(await lines('events', 'export', '--order', 'ORD-1'));
    const none = join(folder, 'none.parquet');
    expect(await json('events', 'export', '--order', 'ORD-0', '--format', 'parquet', '--out', none)).toMatchObject({
      events: 0,
    });
    expect(await readParquet(none)).toEqual([]);
  });

  it('spells what was stored in an unusual way as JSON all the same', async () => {
    const postgres = await openDatabase(environment['DATABASE_URL'] as string);
    const log = new EventLog(postgres);
    const told = { text: 'tab\t "quoted" \\ back\nslash ✓ 😀', nested: { list: [1, 2.5, null] }, empty: {} };
    await log.append({
      category: 'test',
      stream: '00000000-0000-7000-8000-00000000aaaa',
      expected: 'new',
      site: SITE,
      actor: 'user:"Ann" \\ B',
      events: [
        { type: 'test.odd.v1', data: told, personal: { subject: 'ab'.repeat(32), ...told } },
        { type: 'test.odd.v1', data: {}, personal: { subject: 'cd'.repeat(32) } },
        { type: 'test.odd.v1', data: {}, personal: { ...told } as { subject?: string } },
      ],
    });
    await log.close();
    await postgres.close();
    const exported = await lines('events', 'export', '--type', 'test.odd.v1');
    expect(exported).toEqual((await readLog()).filter(({ type }) => type === 'test.odd.v1'));
    expect(exported[0]).toMatchObject({ data: told, personal: { subject: 'ab'.repeat(32), ...told } });
  });
});

describe('replay', () => {
  it('shows every read model as it was, and leaves the present one as it is', async () => {
    const [registered] = await lines('events', 'export', '--type', 'site.registered.v1');
    const before = (await owner.query('SELECT s::text AS row FROM cc.sites s')).rows;
    const [then] = await lines('replay', 'projection', 'sites', '--until', String(registered?.position));
    expect(then).toMatchObject({ host: SITE, inbound: false, connections: [], keys: [] });
    const [now] = await lines('replay', 'projection', 'sites', '--until', '999999999');
    expect(now).toMatchObject({ host: SITE, inbound: true });
    expect((now as never as { keys: object[] }).keys).toHaveLength(2);
    expect((await owner.query('SELECT s::text AS row FROM cc.sites s')).rows).toEqual(before);

    // At every position at which something was received, so many hold a key: the inline one travels too.
    const openings = await lines(
      'events',
      'export',
      '--type',
      'conversion.received.v1',
      '--type',
      'conversion.filtered.v1',
    );
    for (const [index, { position }] of openings.entries())
      expect(await lines('replay', 'projection', 'dedup', '--until', String(position))).toHaveLength(index + 1);
    const first = openings[0] as StoredEvent;
    expect(await lines('replay', 'projection', 'dedup', '--until', first.time)).toEqual([]);
    for (const { name } of await json('projections', 'status')) {
      const rows = await lines('replay', 'projection', name, '--until', '999999999');
      const live = await owner.query(`SELECT row_to_json(t) AS row FROM cc.${name} t`);
      expect(rows).toHaveLength(live.rows.length);
    }
    expect(await refused('replay', 'projection', 'nothing', '--until', '5')).toMatch(
      /There is no projection "nothing"/,
    );
  });

  it('needs Kafka to put events on a topic', async () => {
    expect(await refused('replay', 'events', '--from', '1', '--to', '5', '--to-topic', 'audit')).toBe(
      'Kafka is not configured: set KAFKA_BROKERS to the addresses of your brokers.\n',
    );
  });

  it('hands a publisher every event of the stretch in order, without what is personal', async () => {
    const published: StoredEvent[] = [];
    const counts = await replayEvents(
      owner,
      async (events, topic) => void published.push(...(topic === 'audit' ? events : [])),
      {
        after: 0,
        until: 60_000,
        site: SITE,
        types: ['conversion.received.v1', 'conversion.delivered.v1'],
        topic: 'audit',
      },
    );
    const wanted = (await readLog()).filter(({ type }) =>
      ['conversion.received.v1', 'conversion.delivered.v1'].includes(type),
    );
    expect(published).toEqual(wanted.map((event) => ({ ...event, personal: null })));
    expect(counts).toEqual({
      events: 21,
      byType: { 'conversion.received.v1': 8, 'conversion.delivered.v1': 13 },
    });
  });
});

describe('history verify', () => {
  const verify = async () => {
    const { code, stdout } = await cli(['history', 'verify', '--json']);
    const verdict = JSON.parse(stdout) as { ok: boolean; checks: { name: string; ok: boolean; detail: string }[] };
    expect(code).toBe(verdict.ok ? 0 : 1);
    return verdict;
  };

  /** As somebody with the owner's rights and bad intentions would: past every trigger. What was done is undone. */
  const tampered = async (change: string, undo: string) => {
    const run = (sql: string) =>
      owner.query(`SET session_replication_role = replica; ${sql}; RESET session_replication_role`);
    await run(change);
    try {
      const { ok, checks } = await verify();
      expect(ok).toBe(false);
      return Object.fromEntries(checks.filter((check) => !check.ok).map(({ name, detail }) => [name, detail]));
    } finally {
      await run(undo);
    }
  };

  it('finds that the books close', async () => {
    const { ok, checks } = await verify();
    expect(checks.filter((check) => !check.ok)).toEqual([]);
    expect(ok).toBe(true);
    const detail = Object.fromEntries(checks.map((check) => [check.name, check.detail]));
    expect(detail['conversions']).toBe('received 8 + deduplicated 1 + filtered 1 = 10 conversions');
    expect(detail['deliveries']).toBe(
      'meta: received 8 = delivered 7 + validated 1, segment: received 8 = delivered 6 + skipped 1 + validated 1',
    );
    expect(detail['duplicates']).toBe('9 claims, none within the window of another');
    expect(Object.keys(detail)).toEqual([
      'versions',
      'conversions',
      'deliveries',
      'order',
      'duplicates',
      'pushes',
      'topics',
      ...(await json('projections', 'status')).map(({ name }: { name: string }) => `projection ${name}`),
    ]);
    expect((await cli(['history', 'verify'])).stdout).toMatch(/All checks passed\.\n$/);
  });

  it('sees an event that is missing', async () => {
    const wrong = await tampered(
      `CREATE TABLE public.kept AS SELECT * FROM cc.events WHERE type = 'conversion.delivered.v1' LIMIT 1;
       DELETE FROM cc.events WHERE position IN (SELECT position FROM public.kept)`,
      'INSERT INTO cc.events SELECT * FROM public.kept; DROP TABLE public.kept',
    );
    expect(wrong['versions'] ?? wrong['deliveries']).toBeDefined();
    const opening = await tampered(
      `CREATE TABLE public.kept AS SELECT * FROM cc.events WHERE type = 'conversion.received.v1' LIMIT 1;
       DELETE FROM cc.events WHERE position IN (SELECT position FROM public.kept)`,
      'INSERT INTO cc.events SELECT * FROM public.kept; DROP TABLE public.kept',
    );
    expect(Object.keys(opening)).toEqual(
      expect.arrayContaining(['versions', 'conversions', 'deliveries', 'projection dedup']),
    );
  });

  it('sees an outcome that nobody was to bring', async () => {
    const wrong = await tampered(
      `INSERT INTO cc.events SELECT nextval('cc.event_position'), gen_random_uuid(), category, stream, 90, 'conversion.delivered.v1', site, now(), 'system', NULL,
         '{"platform":"tiktok","attempt":1,"status":"delivered"}' FROM cc.events WHERE type = 'conversion.received.v1' LIMIT 1`,
      'DELETE FROM cc.events WHERE version = 90',
    );
    expect(wrong['deliveries']).toMatch(/tiktok was to get 0 and has 1 results/);
    expect(wrong['versions']).toMatch(/has version 90 at position \d+ instead of/);
  });

  it('sees a conversion that was counted twice', async () => {
    const wrong = await tampered(
      `UPDATE cc.events SET data = (data::jsonb || '{"orderId":"ORD-2"}')::json WHERE type = 'conversion.received.v1' AND reference = 'ORD-3'`,
      `UPDATE cc.events SET data = (data::jsonb || '{"orderId":"ORD-3"}')::json WHERE type = 'conversion.received.v1' AND reference = 'ORD-3'`,
    );
    expect(wrong['duplicates']).toMatch(/^1 were counted that repeat another/);
  });

  it('sees a time that goes back', async () => {
    const last = `(SELECT max(position) FROM cc.events)`;
    const wrong = await tampered(
      `UPDATE cc.events SET time = time - interval '1 hour' WHERE position = ${last}`,
      `UPDATE cc.events SET time = time + interval '1 hour' WHERE position = ${last}`,
    );
    expect(wrong['order']).toBe('1 events are older than the one before them');
  });

  it.each([
    ['sites', `UPDATE cc.sites SET inbound = false`, 'UPDATE cc.sites SET inbound = true'],
    ['dedup', `UPDATE cc.dedup SET weak = NOT weak`, 'UPDATE cc.dedup SET weak = NOT weak'],
    [
      'auth_failures',
      'UPDATE cc.auth_failures SET failed = failed + 1',
      'UPDATE cc.auth_failures SET failed = failed - 1',
    ],
    [
      'key_usage',
      `UPDATE cc.key_usage SET last_used_at = last_used_at + interval '1 s'`,
      `UPDATE cc.key_usage SET last_used_at = last_used_at - interval '1 s'`,
    ],
    [
      'deliveries',
      `INSERT INTO cc.deliveries SELECT gen_random_uuid(), 'meta', 'x', 1, 'send', now() + interval '9 days', 1, NULL, '{}'`,
      'DELETE FROM cc.deliveries',
    ],
  ])('sees a row of %s that the log does not make', async (name, change, undo) => {
    const wrong = await tampered(change, undo);
    expect(Object.keys(wrong)).toEqual([`projection ${name}`]);
    expect(wrong[`projection ${name}`]).toMatch(new RegExp(`"projections rebuild ${name}" folds it anew`));
  });
});

describe('history shadow', () => {
  const shadow = (...rules: string[]) =>
    json('history', 'shadow', '--site', SITE, '--from', '1', '--to', '1000000', ...rules);

  it('gives what was, where no rule is changed', async () => {
    const { conversions, platforms, undecided } = await shadow();
    const were = { received: 8, deduplicated: 1, filtered: 1 };
    expect(conversions).toEqual({ was: were, would: were, changes: [] });
    expect(platforms['meta']).toEqual({
      was: { sent: 7, validated: 1 },
      would: { sent: 7, validated: 1 },
      changes: [],
      payloadsChanged: 0,
    });
    expect(platforms['segment']).toMatchObject({
      was: { sent: 6, 'skipped: event_not_selected': 1, validated: 1 },
      changes: [],
      payloadsChanged: 0,
    });
    expect(undecided).toBe(0);
    expect((await cli(['history', 'shadow', '--site', SITE, '--from', '1', '--to', '1000000'])).stdout).toBe(
      'Nothing would have differed.\n',
    );
  });

  it('tells what another duplicate window would have let through, and who would have got it', async () => {
    const { conversions, platforms } = await shadow('--dedup-window', '0s');
    expect(conversions.changes).toEqual([{ was: 'deduplicated', would: 'received', count: 1 }]);
    expect(conversions.would).toEqual({ received: 9, filtered: 1 });
    expect(platforms['meta'].changes).toEqual([{ was: 'not sent on', would: 'sent', count: 1 }]);
  });

  it('tells what other settings of a platform would have done', async () => {
    const selected = await shadow('--set', 'segment.events=signup');
    expect(selected.platforms['segment'].changes).toEqual([
      { was: 'sent', would: 'skipped: event_not_selected', count: 6 },
      { was: 'skipped: event_not_selected', would: 'sent', count: 1 },
      { was: 'validated', would: 'skipped: event_not_selected', count: 1 },
    ]);
    const renamed = await shadow('--set', 'meta.event.purchase=Bought');
    expect(renamed.platforms['meta']).toMatchObject({ changes: [], payloadsChanged: 7 });
    expect(
      await refused('history', 'shadow', '--site', SITE, '--from', '1', '--to', '9', '--set', 'meta.colour=red'),
    ).toMatch(/meta has no setting "colour"/);
    expect((await cli(['history', 'shadow', '--site', SITE, '--from', '1', '--to', '9', '--set', 'meta'])).code).toBe(
      2,
    );
  });

  it('tells what another threshold for bots would have kept out, or let in', async () => {
    const [received] = await lines('events', 'export', '--type', 'conversion.received.v1');
    const judged = { ...(received as StoredEvent).data, bot: { score: 60, reasons: ['datacenter'], list: '2026-11' } };
    const { conversionId: _, ...likeIt } = judged as Record<string, unknown>;
    const postgres = await openDatabase(environment['DATABASE_URL'] as string);
    const log = new EventLog(postgres);
    const open = async (id: string, type: string, data: object) => {
      const stream = `00000000-0000-7000-8000-0000000${id}`;
      await log.append({
        category: 'conversion',
        stream,
        expected: 'new',
        site: SITE,
        actor: 'system',
        events: [{ type, data: { ...likeIt, ...data, conversionId: stream }, personal: { subject: 'ab'.repeat(32) } }],
      });
    };
    const from = String((await log.head()) + 1);
    await open('b0001', 'conversion.filtered.v1', { orderId: 'BOT-1', reason: 'bot', platforms: undefined });
    await open('b0002', 'conversion.received.v1', {
      orderId: 'BOT-2',
      bot: { score: 20, reasons: [], list: '2026-11' },
    });
    await open('b0003', 'conversion.filtered.v1', { orderId: 'BOT-3', reason: 'blocked_domain', bot: undefined });
    await log.close();
    await postgres.close();
    const changes = async (threshold: string) =>
      (await json('history', 'shadow', '--site', SITE, '--from', from, '--to', '1000000', '--bot-threshold', threshold))
        .conversions.changes;
    expect(await changes('30')).toEqual([]);
    expect(await changes('80')).toEqual([{ was: 'filtered', would: 'received', count: 1 }]);
    expect(await changes('10')).toEqual([{ was: 'received', would: 'filtered', count: 1 }]);
  });
});

describe('the documents', () => {
  const document = async () => {
    const { status, body } = await send(service, { path: '/docs/asyncapi.json', headers: { Host: 'localhost' } });
    expect(status).toBe(200);
    return JSON.parse(body);
  };

  it('describe the topics in AsyncAPI 3, and how to read them', async () => {
    const served = await document();
    const { document: parsed, diagnostics } = await new Parser().parse(JSON.stringify(served));
    expect(diagnostics.filter(({ severity }) => severity === DiagnosticSeverity.Error)).toEqual([]);
    expect(
      parsed
        ?.channels()
        .all()
        .map((channel) => channel.address()),
    ).toEqual(['cc.conversions', 'cc.visitors', 'cc.sites', 'cc.auth', 'cc.outbound']);
    expect(served.info.description).toMatch(/drop every record whose `cc_position` is not above it/);
  });

  it('are for operators only', async () => {
    const headers = { Host: SITE, 'X-Forwarded-For': '203.0.113.9', 'X-Forwarded-Proto': 'https' };
    const trusting = await startTestService(environment['DATABASE_URL'] as string, {
      ...environment,
      TRUSTED_PROXIES: '127.0.0.1',
    });
    try {
      expect((await send(trusting, { path: '/docs/asyncapi.json', headers })).status).toBe(404);
    } finally {
      await trusting.stop();
    }
  });

  it('have a schema for every event, which every event keeps', async () => {
    const { components } = await document();
    const ajv = new Ajv({ strict: false, allErrors: true, formats: { uuid: true, 'date-time': true } });
    // What other tests put there by hand is left out.
    const isOurs = ({ type, data }: LooseEvent) => !type.startsWith('test.') && !/^BOT-/.test(String(data['orderId']));
    const seen = new Set<string>();
    for (const { type, data } of (await readLog()).filter(isOurs)) {
      const schema = components.schemas[type];
      expect([type, schema]).toEqual([type, expect.any(Object)]);
      const isKept = ajv.compile(schema);
      expect([type, isKept(data), isKept.errors]).toEqual([type, true, null]);
      seen.add(type);
    }
    expect([...seen].sort()).toEqual(
      expect.arrayContaining([
        'auth.failed.v1',
        'conversion.deduplicated.v1',
        'conversion.skipped.v1',
        'site.platform_connected.v1',
      ]),
    );
    expect(ajv.validate(components.schemas['auth.failed.v1'], { reason: 'unknown' })).toBe(false);
    expect(ajv.validate(components.schemas['auth.failed.v1'], { reason: 'unknown', instance: 'x', more: 1 })).toBe(
      false,
    );
  });
});

describe('what operators are given', () => {
  /** Metrics and their labels as they are served; a histogram has three names. */
  const served = async () => {
    const { body } = await send(service, { path: '/metrics', headers: { Host: 'localhost' } });
    // This one is there where Kafka is configured.
    const names = new Set<string>(['cc_kafka_relay_lag_events']);
    for (const [, name, type] of body.matchAll(/^# TYPE (\w+) (\w+)/gm))
      for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) names.add(`${name}${suffix}`);
    return { names, body };
  };
  /** As promtool would: names that a query takes values from, and the label values it asks for. */
  const namesIn = (query: string) => [...query.matchAll(/\bcc_\w+/g)].map(([name]) => name);

  it('alerts on metrics that there are, by labels that there are', async () => {
    const { names, body } = await served();
    const { groups } = load(readFileSync('docs/operate/alerts.yml', 'utf8')) as {
      groups: {
        name: string;
        rules: { alert: string; expr: string; for: string; labels: object; annotations: object }[];
      }[];
    };
    const rules = groups.flatMap((group) => group.rules);
    expect(rules.length).toBeGreaterThan(5);
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { alert, expr, for: wait, labels, annotations } of rules) {
      expect([alert, namesIn(expr).filter((name) => !names.has(name))]).toEqual([alert, []]);
      expect(namesIn(expr).length).toBeGreaterThan(0);
      expect([alert, (expr.match(/[({[]/g) ?? []).length]).toEqual([alert, (expr.match(/[)}\]]/g) ?? []).length]);
      expect(wait).toMatch(/^\d+[smh]$/);
      expect(labels).toMatchObject({ severity: expect.stringMatching(/^(info|warning|critical)$/) });
      expect(annotations).toEqual({ summary: expect.any(String), description: expect.any(String) });
      for (const [, label, value] of expr.matchAll(/(outcome|quantile|state)="([^"]+)"/g))
        expect(body).toContain(`${label}="${value}"`);
    }
  });

  it('shows metrics that there are', async () => {
    const { names } = await served();
    const { panels } = JSON.parse(readFileSync('docs/operate/dashboard.json', 'utf8')) as {
      panels: { id: number; title: string; targets: { expr: string }[] }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, targets } of panels) {
      const named = targets.flatMap(({ expr }) => namesIn(expr));
      expect([title, named.length > 0, named.filter((name) => !names.has(name))]).toEqual([title, true, []]);
    }
    const shown = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr))));
    const own = [...names].filter((name) => !/^cc_(process|nodejs)_|_(bucket|sum|count)$/.test(name));
    expect(own.filter((name) => !shown.has(name))).toEqual([]);
  });
});

describe('a long export', () => {
  it.each(['ndjson', 'csv', 'parquet'])('goes on with a half-written %s file where it stopped', async (format) => {
    await fillTo(25_000);
    const whole = join(folder, `whole.${format}`);
    const out = join(folder, `resumed.${format}`);
    const filters = ['--type', 'test.counted.v1', '--to', '1000000'];
    await json('events', 'export', ...filters, '--format', format, '--out', whole);

    const stop = new AbortController();
    stop.abort();
    const interrupted = await cli(['events', 'export', ...filters, '--format', format, '--out', out], stop.signal);
    expect(interrupted).toEqual({
      code: 130,
      stdout: '',
      stderr: 'Interrupted. Run the same command again to resume the export.\n',
    });
    expect([existsSync(out), existsSync(`${out}.part`), existsSync(`${out}.part.json`)]).toEqual([false, true, true]);
    expect((await cli(['events', 'export', '--format', format, '--out', out])).stderr).toMatch(
      /is half of another export\. Ask for that one again to complete it, or remove .*\.part\.json\.\n$/,
    );

    const { code, stderr } = await cli(['events', 'export', ...filters, '--format', format, '--out', out]);
    expect(code).toBe(0);
    expect(stderr).toMatch(/^Resuming .* after position \d+: it contains 10000 events\.\n$/);
    expect(readFileSync(out).equals(readFileSync(whole))).toBe(true);
    expect([existsSync(`${out}.part`), existsSync(`${out}.part.json`)]).toEqual([false, false]);
  });
});

/** Counted events, many pages of them, appended once. */
async function fillTo(count: number): Promise<void> {
  const there = Number(
    (await owner.query(`SELECT count(*) FROM cc.events WHERE type = 'test.counted.v1'`)).rows[0].count,
  );
  if (there >= count) return;
  const postgres = await openDatabase(environment['DATABASE_URL'] as string);
  const log = new EventLog(postgres);
  const events = Array.from({ length: 500 }, (_, n) => ({ type: 'test.counted.v1', data: { n } }));
  const one = (stream: number) =>
    log.append({
      category: 'test',
      stream: `00000000-0000-7000-8000-${String(stream).padStart(12, '0')}`,
      expected: 'new',
      site: SITE,
      actor: 'system',
      events: events as never,
    });
  for (let stream = 0; stream < count / 500; stream += 10)
    await Promise.all(Array.from({ length: 10 }, (_, n) => one(stream + n)).slice(0, count / 500 - stream));
  await log.close();
  await postgres.close();
}

async function readLog(): Promise<LooseEvent[]> {
  const postgres = await openDatabase(environment['DATABASE_URL'] as string);
  const log = new EventLog(postgres);
  const events = loosely(await log.read());
  await log.close();
  await postgres.close();
  return events;
}

async function readParquet(file: string): Promise<StoredEvent[]> {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
  return rows.map((row) => ({
    ...row,
    position: Number(row['position']),
    time: (row['time'] as Date).toISOString(),
    personal: row['personal'] ?? null,
  })) as never;
}

async function post(more: object, apiKey = key): Promise<Reply> {
  const body = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', ...more };
  const headers = { Host: SITE, 'X-CC-Api-Key': apiKey, 'Content-Type': 'application/json' };
  return send(service, { method: 'POST', path: '/__cc/inbound', body: JSON.stringify(body), headers });
}

async function cli(argv: string[], stop?: AbortSignal) {
  const stdout = new Collector();
  const stderr = new Collector();
  const code = await runCli(argv, { env: environment, stdout, stderr, ...(stop && { stop }) });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

async function json(...argv: string[]) {
  const { code, stdout, stderr } = await cli([...argv, '--json']);
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

async function lines(...argv: string[]): Promise<StoredEvent[]> {
  const { code, stdout, stderr } = await cli([...argv, '--json']);
  if (code !== 0) throw new Error(stderr);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

async function refused(...argv: string[]): Promise<string> {
  const { code, stdout, stderr } = await cli(argv);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}
