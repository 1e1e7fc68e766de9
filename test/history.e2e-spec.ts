import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DiagnosticSeverity, Parser } from '@asyncapi/parser';
import { Ajv } from 'ajv';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { load } from 'js-yaml';
import { Client } from 'pg';
import { publishedFields } from '../src/events/unpublished-fields.js';
import { replayEvents } from '../src/history/replay-events.js';
import { withoutPersonal } from '../src/history/without-personal.js';
import type { StoredEvent } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { statisticsProjection } from '../src/statistics/statistics.projection.js';
import { commandLine, type Words } from './support/command-line.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { temporaryFolder } from './support/folders.js';
import { type LooseEvent, loosely } from './support/loose-event.js';
import { type Reply, send, startTestService, type TestService } from './support/service.js';

const SITE = 'shop.example';
const folder = temporaryFolder('cc-history-');

const databaseUrl = await createDatabase();
const environment = { DATABASE_URL: databaseUrl, SECRET_KEY: randomBytes(32).toString('hex') };
const { run: cli, json, lines: printed, projectionsCaughtUp } = commandLine(environment);
const lines = (command: string, ...words: Words) => printed<StoredEvent>(command, ...words);
const sandbox = await new Sandbox().start();
const owner = new Client({ connectionString: databaseUrl });
let service: TestService;
let key: string;

beforeAll(async () => {
  await json(`sites add ${SITE}`);
  await json(`inbound enable ${SITE}`);
  await json(`sites set ${SITE} --block @blocked.example`);
  for (const [platform, set] of [
    ['meta', '--set pixel_id=1234567890 --set access_token=a'],
    ['segment', '--set write_key=w --set events=purchase,lead'],
  ])
    await json(`platforms connect ${platform} --site ${SITE} ${set} --endpoint ${sandbox.url}/${platform}`);
  key = (await json(`keys create --site ${SITE} --name Shop`)).key;
  const trialKey = (await json(`keys create --site ${SITE} --name Trial --trial`)).key;
  service = await startTestService(databaseUrl, environment);
  for (let order = 1; order <= 6; order += 1) await post({ orderId: `ORD-${order}`, value: order });
  await post({ orderId: 'ORD-1', value: 99 });
  await post({ email: 'bob@blocked.example', orderId: 'ORD-B' });
  await post({ event: 'signup', orderId: 'ORD-S' });
  await post({ orderId: 'ORD-T' }, trialKey);
  await post({ orderId: 'ORD-1' }, 'cc_wrong');
  await owner.connect();
  await projectionsCaughtUp();
});

afterAll(async () => {
  await owner?.end();
  await service?.stop();
  await sandbox?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('events export', () => {
  it('writes the same events as ndjson and as Parquet', async () => {
    const all = await lines('events export');
    expect(all.length).toBeGreaterThan(20);
    expect(all.map(({ position }) => position)).toEqual([...all.map(({ position }) => position)].sort((a, b) => a - b));
    expect(JSON.stringify(all)).not.toContain('"hash"');
    const log = await readLog();
    expect(all.filter(({ type }) => type !== 'site.key_issued.v1')).toEqual(
      log.filter(({ type }) => type !== 'site.key_issued.v1'),
    );

    const file = join(folder, 'events.parquet');
    expect(await json('events export --format parquet --out', file)).toEqual({
      file,
      format: 'parquet',
      events: all.length,
      position: all.at(-1)?.position,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await readParquet(file)).toEqual(all);

    const text = join(folder, 'events.ndjson');
    await json('events export --out', text);
    expect(
      readFileSync(text, 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(all);
  });

  it('applies the filters in every format', async () => {
    const file = join(folder, 'received.parquet');
    const filters = `--type conversion.received.v1 --site ${SITE}`;
    const wanted = await lines(`events export ${filters}`);
    expect(wanted).toHaveLength(8);
    await json(`events export ${filters} --format parquet --out`, file);
    expect(await readParquet(file)).toEqual(wanted);
    const order = join(folder, 'order.parquet');
    await json('events export --order ORD-1 --format parquet --out', order);
    expect(await readParquet(order)).toEqual(await lines('events export --order ORD-1'));
    const none = join(folder, 'none.parquet');
    expect(await json('events export --order ORD-0 --format parquet --out', none)).toMatchObject({
      events: 0,
    });
    expect(await readParquet(none)).toEqual([]);
  });

  it('writes a folder for each day, and later runs add only newer events', async () => {
    const out = join(folder, 'days');
    const exportDays = `events export --format parquet --partition-by day --no-personal --out ${out}`;
    const half = String((await lines('events export --to 20')).at(-1)?.position);
    const first = await json(`${exportDays} --to ${half}`);
    const second = await json(exportDays);
    const names = readdirSync(out, { recursive: true })
      .map(String)
      .filter((name) => name.endsWith('.parquet'));
    expect(names).toHaveLength(first.files + second.files);
    const rows = (await Promise.all(names.sort().map((name) => readParquet(join(out, name))))).flat();
    const all = await lines('events export --to', String(second.position + 1));
    expect(rows).toEqual(all.map(withoutPersonal));
    for (const name of names)
      for (const { time } of await readParquet(join(out, name))) expect(name).toContain(`day=${time.slice(0, 10)}`);
    expect(await json(`${exportDays} --to ${second.position + 1}`)).toMatchObject({
      events: 0,
      files: 0,
    });
    expect(await errorOf('events export --partition-by day --out', out)).toMatch(/other options/);
    const checkpoint = join(out, '_export.json');
    writeFileSync(checkpoint, JSON.stringify({ ...JSON.parse(readFileSync(checkpoint, 'utf8')), log: 'another' }));
    expect(await errorOf(exportDays)).toMatch(/export of another log/);
    expect((await cli('events export --partition-by day')).stderr).toMatch(/requires a folder/);
  });

  it('refuses an unknown type with the one that was meant, and a start after the end', async () => {
    const { code, stderr } = await cli('events export --type conversion.recieved.v1');
    expect([code, stderr]).toEqual([2, expect.stringContaining('Did you mean conversion.received.v1?')]);
    expect(await errorOf('events export --from 9 --to 3')).toMatch(/start of the range is after its end/);
  });

  it('exports valid JSON for control characters, quotes and events without data', async () => {
    const data = { text: 'tab\t "quoted" \\ back\nslash ✓ 😀', nested: { list: [1, 2.5, null] }, empty: {} };
    await withLog((log) =>
      log.append({
        category: 'test',
        stream: '00000000-0000-7000-8000-00000000aaaa',
        expected: 'new',
        site: SITE,
        actor: 'user:"Ann" \\ B',
        events: [
          { type: 'test.odd.v1', data, personal: { subject: 'ab'.repeat(32), ...data } },
          { type: 'test.odd.v1', data: {}, personal: { subject: 'cd'.repeat(32) } },
          { type: 'test.odd.v1', data: {}, personal: { ...data } as { subject?: string } },
        ],
      }),
    );
    const exported = (await lines('events export')).filter(({ type }) => (type as string) === 'test.odd.v1');
    expect(exported).toEqual((await readLog()).filter(({ type }) => type === 'test.odd.v1'));
    expect(exported[0]).toMatchObject({ data, personal: { subject: 'ab'.repeat(32), ...data } });
  });
});

describe('replay', () => {
  it('folds every projection up to a position and leaves the live tables unchanged', async () => {
    const [registered] = await lines('events export --type site.registered.v1');
    const before = (await owner.query('SELECT s::text AS row FROM cc.sites s')).rows;
    const [initial] = await lines('replay projection sites --until', String(registered?.position));
    expect(initial).toMatchObject({ host: SITE, inbound: false, connections: [], keys: [] });
    const [current] = await lines('replay projection sites --until 999999999');
    expect(current).toMatchObject({ host: SITE, inbound: true });
    expect((current as never as { keys: object[] }).keys).toHaveLength(2);
    expect(JSON.stringify(current)).not.toContain('"hash"');
    expect((await owner.query('SELECT s::text AS row FROM cc.sites s')).rows).toEqual(before);

    // Each opening event adds one dedup claim: an inline projection has a history too.
    const openings = await lines('events export --type conversion.received.v1 --type conversion.filtered.v1');
    for (const [index, { position }] of openings.entries())
      expect(await lines('replay projection dedup --until', String(position))).toHaveLength(index + 1);
    const first = openings[0] as StoredEvent;
    expect(await lines('replay projection dedup --until', first.time)).toEqual([]);
    const { tables: statistics } = statisticsProjection();
    for (const { name } of await json('projections status')) {
      const rows = await lines(`replay projection ${name} --until 999999999`);
      let live = 0;
      for (const table of name === 'statistics' ? statistics : [name])
        live += (await owner.query(`SELECT FROM cc.${table}`)).rowCount ?? 0;
      expect(rows).toHaveLength(live);
    }
    expect(await errorOf('replay projection nothing --until 5')).toMatch(/Unknown projection "nothing"/);
  });

  it('fails without Kafka when asked to publish to a topic', async () => {
    expect(await errorOf('replay events --from 1 --to 5 --to-topic audit')).toBe(
      'Kafka is not configured: set KAFKA_BROKERS to the addresses of your brokers.\n',
    );
  });

  it('publishes the events of a position range in order, without their personal parts', async () => {
    const published: StoredEvent[] = [];
    const types = ['conversion.received.v1', 'conversion.delivered.v1'];
    const publish = async (events: readonly StoredEvent[], topic: string) =>
      void published.push(...(topic === 'audit' ? events : []));
    const counts = await replayEvents(owner, publish, { after: 0, until: 60_000, site: SITE, types, topic: 'audit' });
    const wanted = (await readLog()).filter(({ type }) => types.includes(type));
    expect(published).toEqual(wanted.map((event) => ({ ...event, personal: null })));
    expect(counts).toEqual({
      events: 21,
      byType: { 'conversion.received.v1': 8, 'conversion.delivered.v1': 13 },
    });
  });
});

describe('history verify', () => {
  const verify = async () => {
    const { code, stdout } = await cli('history verify --json');
    const report = JSON.parse(stdout) as { ok: boolean; checks: { name: string; ok: boolean; detail: string }[] };
    expect(code).toBe(report.ok ? 0 : 1);
    return report;
  };

  /** Runs `change` as the owner with triggers disabled, and returns the details of the failed checks. `undo` reverts it. */
  const violationsAfter = async (change: string, undo: string) => {
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

  it('passes every check on an untouched log', async () => {
    const { ok, checks } = await verify();
    expect(checks.filter((check) => !check.ok)).toEqual([]);
    expect(ok).toBe(true);
    const detail = Object.fromEntries(checks.map((check) => [check.name, check.detail]));
    expect(detail['conversions']).toBe('received 8 + deduplicated 1 + filtered 1 = 10 conversions');
    expect(detail['deliveries']).toBe(
      'meta: received 8 = delivered 7 + validated 1, segment: received 8 = delivered 6 + skipped 1 + validated 1',
    );
    expect(detail['duplicates']).toBe('9 dedup claims, none within the window of another');
    expect(Object.keys(detail)).toEqual([
      ...['chain', 'schemas', 'origins', 'erasures', 'pauses', 'versions', 'conversions', 'deliveries', 'owed'],
      ...['checkpoints', 'order', 'duplicates', 'paused sites', 'users', 'pushes', 'topics'],
      ...(await json('projections status')).map(({ name }: { name: string }) => `projection ${name}`),
    ]);
    expect((await cli('history verify')).stdout).toMatch(/All checks passed\.\n$/);
  });

  it('detects a deleted event', async () => {
    const withoutOneOf = (type: string) =>
      violationsAfter(
        `CREATE TABLE public.deleted_events AS SELECT * FROM cc.events WHERE type = '${type}' LIMIT 1;
         DELETE FROM cc.events WHERE position IN (SELECT position FROM public.deleted_events)`,
        'INSERT INTO cc.events SELECT * FROM public.deleted_events; DROP TABLE public.deleted_events',
      );
    const violations = await withoutOneOf('conversion.delivered.v1');
    expect(violations['versions'] ?? violations['deliveries']).toBeDefined();
    expect(Object.keys(await withoutOneOf('conversion.received.v1'))).toEqual(
      expect.arrayContaining(['versions', 'conversions', 'deliveries', 'projection dedup']),
    );
  });

  it('detects an outcome of a platform that was not connected', async () => {
    const violations = await violationsAfter(
      `INSERT INTO cc.events SELECT nextval('cc.event_position'), gen_random_uuid(), category, stream, 90, 'conversion.delivered.v1', site, now(), 'system', NULL,
         '{"platform":"tiktok","attempt":1,"status":"delivered"}' FROM cc.events WHERE type = 'conversion.received.v1' LIMIT 1`,
      // The service may have folded the event, or do so now.
      `SELECT FROM cc.projections WHERE name = 'statistics' FOR UPDATE;
       DELETE FROM cc.delivery_statistics WHERE platform = 'tiktok'; DELETE FROM cc.events WHERE version = 90`,
    );
    expect(violations['deliveries']).toMatch(/tiktok has 1 result for 0 deliveries/);
    expect(violations['versions']).toMatch(/has version 90 at position \d+ instead of/);
  });

  it('detects a duplicate that was counted', async () => {
    const violations = await violationsAfter(
      `UPDATE cc.events SET data = replace(data::text, '"ORD-3"', '"ORD-2"')::json WHERE type = 'conversion.received.v1' AND reference = 'ORD-3'`,
      `UPDATE cc.events SET data = replace(data::text, '"ORD-2"', '"ORD-3"')::json WHERE type = 'conversion.received.v1' AND reference = 'ORD-3'`,
    );
    expect(violations['duplicates']).toMatch(/^1 duplicates were counted/);
  });

  it('detects an event that is earlier than the one before it', async () => {
    const last = `(SELECT max(position) FROM cc.events)`;
    const violations = await violationsAfter(
      `UPDATE cc.events SET time = time - interval '1 hour' WHERE position = ${last}`,
      `UPDATE cc.events SET time = time + interval '1 hour' WHERE position = ${last}`,
    );
    expect(violations['order']).toMatch(/^1 event has an earlier time than the event before;/);
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
  ])('detects a changed or surplus row in the projection %s', async (name, change, undo) => {
    const violations = await violationsAfter(change, undo);
    expect(Object.keys(violations)).toEqual([`projection ${name}`]);
    expect(violations[`projection ${name}`]).toMatch(new RegExp(`fix it with "projections rebuild ${name}"`));
  });
});

describe('history shadow', () => {
  const shadow = (rules = '') => json(`history shadow --site ${SITE} --from 1 --to 1000000 ${rules}`.trim());

  it('reports no difference when no rule is changed', async () => {
    const { conversions, platforms, undecided } = await shadow();
    const counts = { received: 8, deduplicated: 1, filtered: 1 };
    expect(conversions).toEqual({ was: counts, would: counts, changes: [] });
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
    expect((await cli(`history shadow --site ${SITE} --from 1 --to 1000000`)).stdout).toBe(
      'Nothing would have differed.\n',
    );
  });

  it('reports conversions and deliveries that another dedup window would have added', async () => {
    const { conversions, platforms } = await shadow('--dedup-window 0s');
    expect(conversions.changes).toEqual([{ was: 'deduplicated', would: 'received', count: 1 }]);
    expect(conversions.would).toEqual({ received: 9, filtered: 1 });
    expect(platforms['meta'].changes).toEqual([{ was: 'not sent on', would: 'sent', count: 1 }]);
  });

  it('reports deliveries that other platform settings would have changed', async () => {
    const selected = await shadow('--set segment.events=signup');
    expect(selected.platforms['segment'].changes).toEqual([
      { was: 'sent', would: 'skipped: event_not_selected', count: 6 },
      { was: 'skipped: event_not_selected', would: 'sent', count: 1 },
      { was: 'validated', would: 'skipped: event_not_selected', count: 1 },
    ]);
    const renamed = await shadow('--set meta.event.purchase=Bought');
    expect(renamed.platforms['meta']).toMatchObject({ changes: [], payloadsChanged: 7 });
    expect(await errorOf(`history shadow --site ${SITE} --from 1 --to 9 --set meta.colour=red`)).toMatch(
      /meta has no setting "colour"/,
    );
    expect((await cli(`history shadow --site ${SITE} --from 1 --to 9 --set meta`)).code).toBe(2);
  });

  it('reports conversions that another bot threshold would have filtered or received', async () => {
    const [received] = await lines('events export --type conversion.received.v1');
    const withBotScore = {
      ...(received as StoredEvent).data,
      bot: { score: 60, reasons: ['datacenter'], list: '2026-11' },
    };
    const { conversionId: _, ...template } = withBotScore as Record<string, unknown>;
    const append = async (log: EventLog, id: string, type: string, data: object) => {
      const stream = `00000000-0000-7000-8000-0000000${id}`;
      await log.append({
        category: 'conversion',
        stream,
        expected: 'new',
        site: SITE,
        actor: 'system',
        events: [
          { type, data: { ...template, ...data, conversionId: stream }, personal: { subject: 'ab'.repeat(32) } },
        ],
      });
    };
    const from = await withLog(async (log) => {
      const first = (await log.head()) + 1;
      await append(log, 'b0001', 'conversion.filtered.v1', { orderId: 'BOT-1', reason: 'bot', platforms: undefined });
      await append(log, 'b0002', 'conversion.received.v1', {
        // Orders of bots are not filtered.
        orderId: undefined,
        bot: { score: 20, reasons: [], list: '2026-11' },
      });
      await append(log, 'b0003', 'conversion.filtered.v1', {
        orderId: 'BOT-3',
        reason: 'blocked_domain',
        bot: undefined,
      });
      return String(first);
    });
    const changes = async (threshold: string) =>
      (await json(`history shadow --site ${SITE} --from ${from} --to 1000000 --bot-threshold ${threshold}`)).conversions
        .changes;
    expect(await changes('30')).toEqual([]);
    expect(await changes('80')).toEqual([{ was: 'filtered', would: 'received', count: 1 }]);
    expect(await changes('10')).toEqual([{ was: 'received', would: 'filtered', count: 1 }]);
  });
});

describe('AsyncAPI document', () => {
  const document = async () => {
    const { status, body } = await send(service, { path: '/docs/asyncapi.json', headers: { Host: 'localhost' } });
    expect(status).toBe(200);
    return JSON.parse(body);
  };

  it('describes the topics in AsyncAPI 3, and how to consume them', async () => {
    const served = await document();
    const { document: parsed, diagnostics } = await new Parser().parse(JSON.stringify(served));
    expect(diagnostics.filter(({ severity }) => severity === DiagnosticSeverity.Error)).toEqual([]);
    expect(
      parsed
        ?.channels()
        .all()
        .map((channel) => channel.address()),
    ).toEqual([
      'cc.conversions',
      'cc.visitors',
      'cc.sites',
      'cc.auth',
      'cc.inbound',
      'cc.outbound',
      'cc.users',
      'cc.log',
      'cc.checkpoints',
    ]);
    expect(served.info.description).toMatch(/drop every record whose `cc_position` is not above it/);
  });

  it('is served to operators only', async () => {
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

  it('has a schema for every event type, and every published event is valid', async () => {
    const { components } = await document();
    const ajv = new Ajv({ strict: false, allErrors: true, formats: { uuid: true, 'date-time': true } });
    // Excludes the events that other tests append directly.
    const isOurs = ({ type, data }: LooseEvent) => !type.startsWith('test.') && !/^BOT-/.test(String(data['orderId']));
    const seen = new Set<string>();
    for (const { type, data: stored } of (await readLog()).filter(isOurs)) {
      const data = publishedFields(type, stored);
      const schema = components.schemas[type];
      expect([type, schema]).toEqual([type, expect.any(Object)]);
      const isValid = ajv.compile(schema);
      expect([type, isValid(data), isValid.errors]).toEqual([type, true, null]);
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

describe('alert rules and dashboard', () => {
  /** The names of the served metrics, and the response. A histogram has three names. */
  const served = async () => {
    const { body } = await send(service, { path: '/metrics', headers: { Host: 'localhost' } });
    // Served only if Kafka is configured.
    const names = new Set<string>(['cc_kafka_relay_lag_events', 'cc_kafka_relay_refused']);
    for (const [, name, type] of body.matchAll(/^# TYPE (\w+) (\w+)/gm))
      for (const suffix of type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']) names.add(`${name}${suffix}`);
    return { names, body };
  };
  /** The metric names in a query. */
  const namesIn = (query: string) => [...query.matchAll(/\bcc_\w+/g)].map(([name]) => name);

  it('alerts only on metrics and label values that are served', async () => {
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

  it('shows every metric of the service on the dashboard, and no unknown one', async () => {
    const { names } = await served();
    const { panels } = JSON.parse(readFileSync('docs/operate/dashboard.json', 'utf8')) as {
      panels: { id: number; title: string; targets: { expr: string }[] }[];
    };
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, targets } of panels) {
      const named = targets.flatMap(({ expr }) => namesIn(expr));
      expect([title, named.length > 0, named.filter((name) => !names.has(name))]).toEqual([title, true, []]);
    }
    const charted = new Set(panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr))));
    const ownMetrics = [...names].filter((name) => !/^cc_(process|nodejs)_|_(bucket|sum|count)$/.test(name));
    expect(ownMetrics.filter((name) => !charted.has(name))).toEqual([]);
  });
});

describe('an interrupted export', () => {
  it.each(['ndjson', 'csv', 'parquet'])('resumes a partial %s file where it stopped', async (format) => {
    await fillTo(25_000);
    const whole = join(folder, `whole.${format}`);
    const out = join(folder, `resumed.${format}`);
    const { first, last } = await countedRange();
    const command = `events export --from ${first} --to ${last + 1} --format ${format} --out`;
    await json(command, whole);

    const stop = new AbortController();
    stop.abort();
    const interrupted = await commandLine(environment, stop.signal).run(command, out);
    expect(interrupted).toEqual({
      code: 130,
      stdout: '',
      stderr: 'Interrupted. Run the same command again to resume the export.\n',
    });
    expect([existsSync(out), existsSync(`${out}.part`), existsSync(`${out}.part.json`)]).toEqual([false, true, true]);
    expect((await cli(`events export --format ${format} --out`, out)).stderr).toMatch(
      /belongs to an unfinished export with other options\. Run that command again to complete it, or remove .*\.part\.json\.\n$/,
    );

    const { code, stderr } = await cli(command, out);
    expect(code).toBe(0);
    const page = format === 'parquet' ? 20_000 : 10_000;
    expect(stderr).toMatch(new RegExp(`^Resuming .* after position \\d+: it contains ${page} events\\.\\n$`));
    expect(readFileSync(out).equals(readFileSync(whole))).toBe(true);
    expect([existsSync(`${out}.part`), existsSync(`${out}.part.json`)]).toEqual([false, false]);
  });
});

/** Appends test events until there are `count` of them: several pages of an export. */
async function fillTo(count: number): Promise<void> {
  const existing = Number(
    (await owner.query(`SELECT count(*) FROM cc.events WHERE type = 'test.counted.v1'`)).rows[0].count,
  );
  if (existing >= count) return;
  const events = Array.from({ length: 500 }, (_, n) => ({ type: 'test.counted.v1', data: { n } }));
  const appendStream = (log: EventLog, stream: number) =>
    log.append({
      category: 'test',
      stream: `00000000-0000-7000-8000-${String(stream).padStart(12, '0')}`,
      expected: 'new',
      site: SITE,
      actor: 'system',
      events: events as never,
    });
  await withLog(async (log) => {
    for (let stream = 0; stream < count / 500; stream += 10)
      await Promise.all(
        Array.from({ length: 10 }, (_, n) => appendStream(log, stream + n)).slice(0, count / 500 - stream),
      );
  });
}

async function countedRange(): Promise<{ first: number; last: number }> {
  const { rows } = await owner.query(
    `SELECT min(position)::float8 AS first, max(position)::float8 AS last FROM cc.events WHERE type = 'test.counted.v1'`,
  );
  return rows[0];
}

async function readLog(): Promise<LooseEvent[]> {
  return withLog(async (log) => loosely(await log.read()));
}

async function withLog<Result>(use: (log: EventLog) => Promise<Result>): Promise<Result> {
  const postgres = await openDatabase(environment['DATABASE_URL'] as string);
  const log = new PostgresEventLog(postgres);
  try {
    return await use(log);
  } finally {
    await log.close();
    await postgres.close();
  }
}

async function readParquet(file: string): Promise<StoredEvent[]> {
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
  return rows.map(({ position, id, type, stream, version, site, time, actor, data, personal = null }) => ({
    ...{ position: Number(position), id, type, stream, version, site, time: (time as Date).toISOString(), actor },
    ...{ data, personal },
  })) as never;
}

async function post(more: object, apiKey = key): Promise<Reply> {
  const body = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', ...more };
  const headers = { Host: SITE, 'X-CC-Api-Key': apiKey, 'Content-Type': 'application/json' };
  return send(service, { method: 'POST', path: '/__cc/inbound', body: JSON.stringify(body), headers });
}

async function errorOf(command: string, ...words: Words): Promise<string> {
  const { code, stdout, stderr } = await cli(command, ...words);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}
