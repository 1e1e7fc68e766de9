import { createHash, randomUUID } from 'node:crypto';
import { allProjections } from '../src/app/projections.js';
import { runCli } from '../src/cli/run-cli.js';
import { UnsettledConversions } from '../src/delivery/owed/owed.js';
import { readUnsettled } from '../src/delivery/owed/read-unsettled.js';
import { settingsAsOf } from '../src/delivery/payload/payload.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import { OUTBOUND } from '../src/events/outbound.events.js';
import { SITE, streamIdOf } from '../src/events/site.events.js';
import { type ConversionStream, conversionHistory } from '../src/history/conversion-history.js';
import { findAttempts } from '../src/history/find-attempts.js';
import { pushesCheck } from '../src/history/reconciliation/pushes.check.js';
import { previewSettings } from '../src/history/settings-preview.js';
import type { VerifyDependencies } from '../src/history/verify.js';
import { Sealer } from '../src/kernel/sealing.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import type { StoredEvent } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { moveOut } from '../src/moves/move-out.js';
import { countedUpTo, nextStep, nextWindowStart, pendingOf, streamOf } from '../src/outbound/reporting-window.js';
import { COUNTED, COUNTED_BY, sumTotals } from '../src/outbound/totals.js';
import { Lease } from '../src/postgres/lease.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { StartMove } from '../src/sites/move.commands.js';
import { siteCommandDispatcher } from '../src/sites/site-command-handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import type { SiteWebhook } from '../src/sites/webhook.js';
import { readAnnotations } from '../src/statistics/annotations.js';
import { loadBotList } from '../src/visitors/bots/bot-list.js';
import { BotScorer } from '../src/visitors/bots/bot-scorer.js';
import { LATE_MATCHES_LEASE } from '../src/visitors/late-matches.js';
import { Collector } from './support/collector.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  conversionId,
  INBOUND,
  openOperator,
  post,
  SHORT_ATTEMPTS,
  send,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { copySite, open } from './support/site-copies.js';
import { type DrawnCall, TagCallers } from './support/tag-callers.js';
import { eventually } from './support/waiting.js';
import { answerWith, startReceiver, type WebhookReceiver } from './support/webhook-receiver.js';

const HOST = 'moving.example';
const VISIT: DrawnCall = {
  ...{ by: 0, call: 'identify', isBot: false, consent: 'granted', kinds: ['gclid', 'fbclid'], statedAge: 0 },
  ...{ sendsCookie: true, sendsStatement: true },
};
const emailOf = (name: string) => `${name}@example.com`;
const subjectOf = (name: string) => createHash('sha256').update(emailOf(name)).digest('hex');
/** Rows of the projections about a site, in an order that does not depend on the log. */
const TABLES = [
  'deliveries',
  'unmatched',
  'match_rate',
  'totals',
  'conversion_statistics',
  'delivery_statistics',
  'refusal_statistics',
  'consent_statistics',
  'field_statistics',
  'event_statistics',
  'attributions',
  'identifier_statistics',
  'auth_failures',
  'identifiers',
  'consent',
];
/** Where events are in one log, and since when it has the site, says nothing about the other one. */
const OF_ONE_LOG = new Set(['position', 'after', 'until', 'skipped', 'asOf', 'epoch', 'arrivedBy', 'openSince']);

/** One log with the tools of its operator. */
interface Cell {
  readonly url: string;
  readonly postgres: Postgres;
  readonly log: EventLog;
  readonly sites: SiteRepository;
  readonly secrets: SiteSecrets;
  readonly projections: ProjectionRunner;
  /** Its output, which must be JSON. */
  cli(...argv: string[]): Promise<unknown>;
  close(): Promise<void>;
}

let sandbox: RunningSandbox;
let receiver: WebhookReceiver;
let north: Cell;
let south: Cell;
let key: string;
/** The newest conversion that was received by an instance that ended before it delivered it. */
let owed: string;
/** Times within the history of the site. */
let times: { from: Date; to: Date };

async function openCell(): Promise<Cell> {
  const url = await createDatabase();
  const postgres = await openDatabase(url);
  const log = new PostgresEventLog(postgres);
  const secrets = new SiteSecrets(postgres.pool, new Sealer(Buffer.from(SECRET_KEY, 'hex')));
  return {
    ...{ url, postgres, log, secrets },
    sites: new SiteRepository(log),
    projections: new ProjectionRunner(postgres, allProjections(secrets)),
    async cli(...argv) {
      const [stdout, stderr] = [new Collector(), new Collector()];
      const env = { DATABASE_URL: url, SECRET_KEY, OUTBOUND_ALLOW_PRIVATE: 'true', OUTBOUND_RETRY_SCHEDULE: '1h' };
      const code = await runCli([...argv, '--json'], { env, stdout, stderr });
      const { text } = stdout;
      if (code !== 0) throw new Error(`${argv.join(' ')}: ${stderr.text}${text}`);
      return text.trimEnd().includes('\n') && !text.startsWith('{\n') && !text.startsWith('[')
        ? text
            .trimEnd()
            .split('\n')
            .map((line) => JSON.parse(line))
        : text === ''
          ? ''
          : JSON.parse(text);
    },
    async close() {
      await log.close();
      await postgres.close();
    },
  };
}

const serve = (cell: Cell) =>
  startTestService(
    cell.url,
    {
      DELIVERY_RETRY_SCHEDULE: '1h',
      OUTBOUND_ALLOW_PRIVATE: 'true',
      OUTBOUND_EVERY: '24h',
      INBOUND_DEADLINE: '5s',
      TRUSTED_PROXIES: '127.0.0.1',
    },
    { attempts: SHORT_ATTEMPTS },
  );

async function behave(platform: string, mode: string, more: object = {}): Promise<void> {
  const body = JSON.stringify({ platform, mode, ...more });
  expect((await fetch(`${sandbox.url}/behave`, { method: 'POST', body })).status).toBe(200);
}

const connect = (cell: Cell, platform: string, ...set: string[]) =>
  cell.cli(
    ...['platforms', 'connect', platform, '--site', HOST, '--endpoint', `${sandbox.url}/${platform}`],
    ...set.flatMap((one) => ['--set', one]),
  );

const GOOGLE = ['customer_id=1234567890', 'client_id=client', 'client_secret=secret', 'refresh_token=refresh'];

async function sale(service: TestService, name: string, more: object = {}): Promise<string> {
  const body = { email: emailOf(name), event: 'purchase', value: 20, currency: 'EUR', orderId: `${name}-1`, ...more };
  const reply = await post(service, { host: HOST, key } as TestSite, body);
  expect([reply.status, reply.body]).toEqual([200, expect.any(String)]);
  return conversionId(reply);
}

async function visit(cell: Cell, name: string, more: Partial<DrawnCall> = {}): Promise<void> {
  const now = () => cell.postgres.clock.nowMs();
  const callers = new TagCallers(cell.log, await cell.sites.get(HOST), subjectOf(name), name, now);
  await callers.send({ ...VISIT, ...more });
}

/** As the tag does it in a browser. Returns the cookie that the browser has then. */
async function callTag(service: TestService, call: string, message: object, cookie = ''): Promise<string> {
  const headers = {
    ...{ Host: HOST, Origin: `https://www.${HOST}`, 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.9' },
    ...{ 'Content-Type': 'text/plain;charset=UTF-8', 'Accept-Language': 'de', 'Sec-Fetch-Mode': 'no-cors' },
    'User-Agent': 'Mozilla/5.0 (Windows NT 10.0; rv:115.0) Gecko/20100101 Firefox/115.0',
    ...(cookie !== '' && { Cookie: cookie }),
  };
  const body = JSON.stringify({ v: 1, visitor: randomUUID(), visit: randomUUID(), ...message });
  const reply = await send(service, { method: 'POST', path: `/__cc/${call}`, headers, body });
  expect(reply.status).toBe(204);
  return String(reply.headers['set-cookie']).split(';')[0] as string;
}

/** Closes a window and pushes it. */
async function push(cell: Cell, status: number): Promise<void> {
  receiver.answer = answerWith(status);
  // The command fails if the receiver does not accept it.
  await cell.cli('webhook', 'push', '--site', HOST).catch(() => {});
}

/** Events of another site, so that positions do not follow those of the site. */
async function others(cell: Cell): Promise<void> {
  const stream = { category: CONVERSION, site: 'other.example', actor: 'system', expected: 'new' } as const;
  for (let count = 0; count < 3; count += 1) {
    const conversion = uuidv7();
    const data = {
      conversionId: conversion,
      event: 'purchase',
      value: 1,
      currency: 'EUR',
      keyId: uuidv7(),
      trial: false,
    };
    await cell.log.append({
      ...{ ...stream, stream: conversion, reference: 'other' },
      events: [{ type: 'conversion.received.v1', data: { ...data, platforms: [] } }],
    });
  }
}

/** What one stay of the site in a cell leaves: every kind of event whose data refers to others. */
async function stay(cell: Cell, name: string, { isMatchedLate }: { isMatchedLate: boolean }): Promise<string> {
  const lease = isMatchedLate ? undefined : await Lease.take(cell.postgres, LATE_MATCHES_LEASE, 0, 600_000);
  const service = await serve(cell);
  let late: string;
  try {
    await others(cell);
    await connect(cell, 'meta', `pixel_id=1${name.length}`, 'access_token=token');
    await visit(cell, `${name}-seen`);
    await sale(service, `${name}-seen`);
    await sale(service, `${name}-seen`);
    await sale(service, `${name}-repeated`);
    await push(cell, 200);
    // The platform may have accepted it: bound to these settings.
    await behave('meta', 'drop', { times: 1 });
    await sale(service, `${name}-bound`);
    await connect(cell, 'meta', `pixel_id=2${name.length}`, 'access_token=token');
    await others(cell);
    await behave('meta', 'server_error', { times: 1 });
    await sale(service, `${name}-deferred`);
    await sale(service, `${name}-refunded`, { value: 100 });
    await sale(service, `${name}-refunded`, { event: 'refund', value: 30 });
    await connect(cell, 'meta', `pixel_id=3${name.length}`, 'access_token=token');
    await connect(cell, 'google_ads', ...GOOGLE, 'event.purchase=987', 'refund_event=refund', 'require_click_id=yes');
    await connect(cell, 'ga4', 'measurement_id=G-ABC1234', 'api_secret=secret');
    await service.refreshSites();
    await push(cell, 500);
    // Skipped, and reopened by the visit that is identified later.
    const cookie = await callTag(service, 'collect', {});
    late = await sale(service, `${name}-late`);
    await callTag(
      service,
      'identify',
      { hash: subjectOf(`${name}-late`), cookies: { _ga: '111111111.1700000000' } },
      cookie,
    );
    if (isMatchedLate) await reopened(cell, late);
    await cell.cli('sites', 'set', HOST, '--block', emailOf(`${name}-blocked`));
    await service.refreshSites();
    await sale(service, `${name}-blocked`);
    await visit(cell, `${name}-bot`, { isBot: true, by: 2 });
    await visit(cell, `${name}-denied`, { call: 'consent', consent: 'denied' });
    await sale(service, `${name}-denied`);
    await sale(service, `${name}-erased`);
    await visit(cell, `${name}-erased`);
    await cell.cli('visitors', 'erase', '--site', HOST, '--email', emailOf(`${name}-erased`), '--yes');
    await send(service, {
      method: 'POST',
      path: INBOUND,
      headers: { Host: HOST, 'X-CC-Api-Key': 'wrong' },
      body: '{}',
    });
    await cell.cli('platforms', 'pause', 'google_ads', '--site', HOST);
    await service.refreshSites();
    await sale(service, `${name}-paused`);
    await cell.cli('webhook', 'disable', '--site', HOST);
    await sale(service, `${name}-unreported`);
    await cell.cli('webhook', 'enable', '--site', HOST);
    await others(cell);
  } finally {
    await service.stop();
    await lease?.release();
  }
  // Received by an instance that ended before it delivered it.
  const [last] = (await cell.log.read({ site: HOST, types: ['conversion.received.v1'], limit: 1, newest: true })) as [
    StoredEvent<'conversion.received.v1'>,
  ];
  const conversion = uuidv7();
  owed = conversion;
  await cell.log.append({
    ...{ category: CONVERSION, stream: conversion, site: HOST, actor: 'system', expected: 'new' },
    events: [
      {
        type: last.type,
        data: { ...last.data, conversionId: conversion, orderId: conversion },
        personal: last.personal ?? {},
      },
    ],
  });
  return late;
}

const reopened = (cell: Cell, conversion: string) =>
  eventually(
    async () =>
      (await cell.log.readStream(CONVERSION, conversion)).find(({ type }) => type === 'conversion.reopened.v1'),
    (event) => event !== undefined,
  );

/** Moves the site, with events of others stored in between. */
async function move(from: Cell, to: Cell, whileArriving = async () => {}): Promise<void> {
  const { epoch } = await from.sites.get(HOST);
  const commands = siteCommandDispatcher(from.sites, from.secrets);
  const departure = { to: 'elsewhere', epoch: epoch + 1 };
  await commands.execute(new StartMove('cli', HOST, departure.to, departure.epoch));
  const left = await moveOut(from, { actor: 'cli', host: HOST, ...departure });
  let isCopied = false;
  const between = (async () => {
    while (!isCopied) await others(to);
  })();
  const arrivedAfter = await to.log.head();
  expect(await copySite(from.postgres, to.postgres, HOST)).toBeGreaterThan(0);
  isCopied = true;
  await between;
  await whileArriving();
  await open(to.postgres, HOST);
  const stream = streamIdOf(HOST);
  const { events, position } = left;
  const data = {
    from: 'elsewhere',
    epoch: departure.epoch,
    events,
    position,
    head: '0'.repeat(64),
    after: arrivedAfter,
  };
  await to.log.append({
    ...{ category: SITE, stream, site: HOST, actor: 'cli', expected: (await to.log.readStream(SITE, stream)).length },
    events: [{ type: 'site.moved_in.v1', data }],
  });
}

/** Everything that is read of the site, as one log answers it. */
async function answersOf(cell: Cell) {
  const { log, sites, postgres, projections } = cell;
  for (const { name, inline } of allProjections({} as SiteSecrets)) if (!inline) await projections.catchUp(name);
  const site = await sites.get(HOST);
  const webhook = site.webhook as SiteWebhook;
  const received = await log.read({ site: HOST, types: ['conversion.received.v1'] });
  const conversions = [];
  for (const { data } of received) {
    const own = (await log.readStream(CONVERSION, data.conversionId)) as unknown as ConversionStream;
    conversions.push({
      history: await conversionHistory({ log, sites } as Parameters<typeof conversionHistory>[0], own),
      settings: site.connections.map((connection) => settingsAsOf(connection, data)),
    });
  }
  const [end] = await log.readEnds(OUTBOUND, [streamOf(HOST)]);
  const { fromPosition, windowStart } = nextWindowStart(webhook, end);
  const after = await countedUpTo(log, { webhook, hasMoved: site.epoch > 0 }, end);
  const counts = await log.count({ site: HOST, after, until: await log.head(), types: COUNTED, by: COUNTED_BY });
  const unsettled = new UnsettledConversions(0, () => 0);
  await readUnsettled(log, unsettled, await log.head(), () => true);
  const ids = new Set(received.map(({ data }) => data.conversionId as string));
  const tables = Object.fromEntries(
    await Promise.all(
      TABLES.map(async (table) => {
        const { rows } = await postgres.pool.query(`SELECT to_json(t) AS row FROM cc.${table} t WHERE site = $1`, [
          HOST,
        ]);
        return [table, rows.map(({ row }) => JSON.stringify(comparable(row))).sort()];
      }),
    ),
  );
  const range = ['--from', times.from.toISOString(), '--to', times.to.toISOString()];
  const attempts = (bounds: object) =>
    postgres.pool.connect().then(async (client) => {
      try {
        const dependencies = {
          read: (read: (one: typeof client) => unknown) => read(client),
          log,
          dedupSecret: undefined,
        };
        return await findAttempts(dependencies as Parameters<typeof findAttempts>[0], site, {
          ...bounds,
          limit: 1_000,
        });
      } finally {
        client.release();
      }
    });
  const nowMs = times.to.getTime() + 60_000;
  const preview = { log, scorer: new BotScorer(loadBotList()), dedupSecret: 'secret', defaultWindowMs: 60_000, nowMs };
  const verify = { sites, log, until: await log.head(), removedUntil: 0, progress: () => {} };
  return comparable({
    site,
    conversions,
    end,
    window: { fromPosition, windowStart, totals: sumTotals(counts), pending: pendingOf(end) },
    step: nextStep(webhook, end, nowMs, 60_000),
    owed: [...unsettled.owed(1)].filter(({ conversion }) => ids.has(conversion)),
    tables,
    shadow: await cell.cli(
      'history',
      'shadow',
      '--site',
      HOST,
      ...range,
      '--dedup-window',
      '0s',
      '--set',
      'meta.pixel_id=9',
    ),
    shadowOfAll: await cell.cli(
      'history',
      'shadow',
      '--site',
      HOST,
      '--from',
      '0',
      '--to',
      String(2 ** 50),
      '--dedup-window',
      '30d',
    ),
    rejudged: await cell.cli('history', 'rejudge', '--site', HOST, ...range),
    sync: await cell.cli('sync', 'log', '--site', HOST, ...range),
    newest: await cell.cli('sync', 'log', '--site', HOST, '--last', '5'),
    exported: await cell.cli('events', 'export', '--site', HOST, ...range),
    tail: await cell.cli('events', 'tail', '--site', HOST, '--last', '30', ...range),
    replayed: await cell.cli(
      'replay',
      'deliveries',
      '--site',
      HOST,
      '--platform',
      'meta',
      ...range,
      '--status',
      'queued',
      '--dry-run',
    ),
    attempts: await attempts({ from: { time: times.from }, to: { time: times.to } }),
    annotations: await readAnnotations(log, [HOST], {
      fromMs: times.from.getTime(),
      toMs: times.to.getTime(),
    } as never),
    preview: await previewSettings(preview, site, { dedupWindow: '30d' } as never),
    webhook: await cell.cli('webhook', 'show', '--site', HOST),
    people: await Promise.all(
      ['first-seen', 'first-late', 'first-denied'].map((name) =>
        cell.cli('visitors', 'show', '--site', HOST, '--email', emailOf(name)),
      ),
    ),
    pushes: await pushesCheck.examine(verify as unknown as VerifyDependencies),
  });
}

/** Without what is of one log. */
function comparable(value: unknown): Record<string, unknown> {
  return JSON.parse(
    JSON.stringify(value, (name, each: unknown) => (OF_ONE_LOG.has(name) || each instanceof Map ? undefined : each)),
  );
}

/** Moves the site and compares what both logs answer. */
async function expectSameAnswers(from: Cell, to: Cell, whileArriving?: () => Promise<void>): Promise<void> {
  const expected = await answersOf(from);
  await move(from, to, whileArriving);
  const found = await answersOf(to);
  expect(differencesOf(found, expected)).toEqual([]);
}

/** The first ones, with their paths: a comparison of the whole would be too long to print. */
function differencesOf(found: unknown, expected: unknown, path = ''): string[] {
  if (JSON.stringify(found) === JSON.stringify(expected)) return [];
  if (!isObject(found) || !isObject(expected))
    return [`${path}: ${JSON.stringify(found)} for ${JSON.stringify(expected)}`];
  const names = new Set([...Object.keys(found), ...Object.keys(expected)]);
  return [...names].flatMap((name) => differencesOf(found[name], expected[name], `${path}.${name}`)).slice(0, 10);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

beforeAll(async () => {
  sandbox = await new Sandbox().start();
  receiver = await startReceiver();
  north = await openCell();
  south = await openCell();
  const operator = await openOperator(north.url);
  await others(north);
  await others(south);
  await north.cli('sites', 'add', HOST);
  await north.cli('inbound', 'enable', HOST);
  key = (await operator.issueKey(HOST)).key;
  await operator.close();
  await north.cli('webhook', 'set', '--site', HOST, '--url', `${receiver.url}/totals`, '--secret', 'k'.repeat(32));
  await stay(north, 'first', { isMatchedLate: true });
  const events = await north.log.read({ site: HOST, categories: [CONVERSION] });
  const timeOf = (share: number) => new Date((events[Math.floor(events.length * share)] as StoredEvent).time);
  times = { from: timeOf(0.25), to: timeOf(0.75) };
});
afterAll(async () => {
  await north?.close();
  await south?.close();
  await receiver?.stop();
  await sandbox?.stop();
});

it('a log gives the same answers about a site that came from another one', async () => {
  const first = await answersOf(north);
  // The history has what the comparison is about.
  expect(first['window']).toMatchObject({ pending: { body: { conversions: expect.any(Number) } } });
  expect((first['owed'] as unknown[]).length).toBeGreaterThan(0);
  expect((first['tables'] as Record<string, unknown[]>)['deliveries']?.length).toBeGreaterThan(1);
  expect((first['exported'] as unknown[]).length).toBeGreaterThan(10);
  expect(first['pushes']).toMatchObject({ ok: true });
  await expectSameAnswers(north, south);
});

it('the first log gives the same answers about a site that came back, and acts for it once it arrived', async () => {
  const late = await stay(south, 'second', { isMatchedLate: false });
  const before = await north.log.head();
  const service = await serve(north);
  await expectSameAnswers(south, north, async () => {
    // Everything was read: visits by the scan for late matches, conversions without an outcome by that for owed deliveries.
    const head = await north.log.head();
    await eventually(
      async () => {
        const { rows } = await north.postgres.pool.query<{ name: string; reached: string }>(
          `SELECT name, reached FROM cc.leases WHERE name = 'late-matches' AND reached >= $1`,
          [head],
        );
        return rows.length;
      },
      (found) => found === 1,
    );
    await service.stop();
    const stored = await north.log.read({ site: HOST, after: before });
    const there = new Set((await south.log.read({ site: HOST })).map(({ id }) => id));
    expect(stored.filter(({ id }) => !there.has(id))).toEqual([]);
  });
  const again = await serve(north);
  try {
    const { data } = (await reopened(north, late)) as StoredEvent<'conversion.reopened.v1'>;
    // A position of the log in which it was found.
    const types = ['visitor.identified.v1'] as const;
    const visits = (await Promise.all([north, south].map(({ log }) => log.read({ site: HOST, types })))).flat();
    expect(visits.map(({ position }) => position)).toContain(data.by);
    await eventually(
      () => north.log.readStream(CONVERSION, owed),
      (events) => events.length > 1,
    );
  } finally {
    await again.stop();
  }
});
