import { randomUUID } from 'node:crypto';
import { PassThrough } from 'node:stream';
import type { DoctorDependencies } from '../src/app/doctor/check.js';
import { deliveries, owed } from '../src/app/doctor/delivery-checks.js';
import { runCli } from '../src/cli/run-cli.js';
import { pausedSitesCheck } from '../src/history/reconciliation/paused-sites.check.js';
import type { VerifyDependencies } from '../src/history/verify.js';
import { SitePaused } from '../src/kernel/errors.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { APPEND_LOCK } from '../src/log/append/append-lock.js';
import { readHoldDifferences } from '../src/log/audit/pause-audit.js';
import type { AppendRequest } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { closeElsewhere, reopen } from '../src/moves/sites-elsewhere.js';
import { pushTotals } from '../src/outbound/operate-webhook.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectPlatform } from '../src/sites/connections/connection.commands.js';
import { AddSite, PauseSite, RemoveSite, ResumeSite } from '../src/sites/site.commands.js';
import { RemoveSiteHandler } from '../src/sites/site.handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import type { SiteSecrets } from '../src/sites/site-secrets.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { claiming, thing } from './support/event-log.contract.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  conversionId,
  getReceipt,
  type Operator,
  openOperator,
  post,
  type Reply,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';

describe('the append of a paused site', () => {
  let operator: Operator;
  let postgres: Postgres;
  /** Logs of two instances. They know nothing of sites, as one that has not read the pause yet. */
  let logs: [EventLog, EventLog];
  let host: string;

  beforeAll(async () => {
    const url = await createDatabase();
    operator = await openOperator(url);
    postgres = await openDatabase(url);
    logs = [new PostgresEventLog(postgres), new PostgresEventLog(postgres)];
  });
  afterAll(async () => {
    for (const log of logs ?? []) await log.close();
    await postgres?.close();
    await operator?.close();
  });
  beforeEach(async () => {
    host = (await operator.openSite()).host;
  });

  const pause = () => operator.execute(new PauseSite('cli', host));
  const resume = () => operator.execute(new ResumeSite('cli', host));
  const opening = (site = host): AppendRequest => ({ ...claiming(randomUUID()), site });

  it('keeps refusing a site that another cell has, whose pause an operator ends or which is removed here', async () => {
    await pause();
    await closeElsewhere(postgres, { site: host, cell: 'b', epoch: 1 });
    const stored = await operator.log.head();
    await expect(resume()).rejects.toThrow(`Another cell has ${host}`);
    await expect(operator.execute(new RemoveSite('cli', host))).rejects.toThrow(host);
    expect(await operator.log.head()).toBe(stored);
    const { rows } = await postgres.pool.query('SELECT closed FROM cc.paused_sites WHERE site = $1', [host]);
    expect(rows).toEqual([{ closed: true }]);
    const bare = (await operator.execute(new AddSite('cli', `bare-${host}`, []))).host;
    await closeElsewhere(postgres, { site: bare, cell: 'b', epoch: 1 });
    await expect(operator.execute(new RemoveSite('cli', bare))).rejects.toThrow(`Another cell has ${bare}`);
  });

  it('is refused also if the pause begins when the hold because of another cell ends', async () => {
    const holding = { site: host, cell: 'b', epoch: 1 };
    await closeElsewhere(postgres, holding);
    const client = await postgres.connect('test');
    await client.query('BEGIN');
    await client.query('SELECT pg_advisory_xact_lock($1)', [APPEND_LOCK]);
    const waiting = (count: number) =>
      eventually(
        () =>
          client.query(
            `SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
            [APPEND_LOCK],
          ),
        ({ rowCount }) => rowCount === count,
      );
    const ended = reopen(postgres, holding);
    await waiting(1);
    const paused = pause();
    await waiting(2);
    await client.query('COMMIT');
    await client.end();
    expect(await ended).toBe(true);
    expect(await paused).toMatchObject({ paused: true });
    await expect(logs[0].append(opening())).rejects.toThrow(SitePaused);
    expect(await readHoldDifferences(postgres.pool)).toEqual([]);
  });

  it('stores nothing new after the pause, whatever instance sends it, and loses nothing from before', async () => {
    const answers: { stream: string; position?: number }[] = [];
    let isStopped = false;
    const senders = [...logs, ...logs].map(async (log) => {
      while (!isStopped) {
        const request = opening();
        const outcome = await log.append(request).catch((error: Error) => error);
        if (outcome instanceof Error) expect(outcome).toBeInstanceOf(SitePaused);
        else expect(outcome.status).toBe('appended');
        const { position } = outcome as { position?: number };
        answers.push({ stream: request.stream, ...(position !== undefined && { position }) });
      }
    });
    const progress = (times: number) =>
      eventually(
        async () => answers.length,
        (count) => count > times,
      );
    for (let round = 1; round <= 5; round += 1) {
      await progress(answers.length + 50);
      await pause();
      await progress(answers.length + 50);
      await resume();
    }
    await progress(answers.length + 50);
    isStopped = true;
    await Promise.all(senders);

    const events = await operator.log.read({ site: host });
    let isPaused = false;
    let pauses = 0;
    const stored = new Map<string, number>();
    for (const { type, stream, position } of events as { type: string; stream: string; position: number }[]) {
      if (type === 'site.paused.v1') pauses += 1;
      if (type === 'site.paused.v1' || type === 'site.resumed.v1') isPaused = type === 'site.paused.v1';
      if (stream.startsWith('site-')) continue;
      expect({ position, isPaused }).toEqual({ position, isPaused: false });
      stored.set(stream.slice(stream.indexOf('-') + 1), position);
    }
    expect(pauses).toBe(5);
    expect(answers.some(({ position }) => position === undefined)).toBe(true);
    for (const { stream, position } of answers) expect([stream, stored.get(stream)]).toEqual([stream, position]);
    expect(stored.size).toBe(answers.filter(({ position }) => position !== undefined).length);
  });

  it('refuses its rows of a batch and none of another site, and takes no dedup key', async () => {
    const other = await operator.openSite();
    const [log] = logs;
    const mine = opening();
    await pause();
    const requests = [mine, opening(other.host), opening(), opening(other.host)];
    const outcomes = await Promise.all(requests.map((each) => log.append(each).catch((error: Error) => error)));
    expect(outcomes.map((outcome) => (outcome instanceof Error ? outcome.name : outcome.status))).toEqual([
      'SitePaused',
      'appended',
      'SitePaused',
      'appended',
    ]);
    await resume();
    expect(await log.append({ ...mine, stream: uuidv7() })).toMatchObject({ status: 'appended' });
  });

  it('refuses a new stream also if its id is derived, so that it may be stored already', async () => {
    const [log] = logs;
    const stored = { ...thing(), expected: 0, site: host } as const;
    await log.append(stored);
    await pause();
    await expect(log.append({ ...opening(), expected: 0 })).rejects.toThrow(SitePaused);
    expect(await log.append(stored)).toMatchObject({ status: 'conflict' });
    await resume();
  });

  it('continues streams, so that outcomes are recorded, and records erasures, consent and outcomes of what was removed', async () => {
    const [log] = logs;
    const begun = { ...thing(), site: host };
    const { position } = (await log.append(begun)) as { position: number };
    await pause();
    expect(await log.append({ ...begun, expected: { owned: 1, position } })).toMatchObject({ status: 'appended' });
    expect(await log.append({ ...begun, expected: 2 })).toMatchObject({ status: 'appended' });
    for (const type of ['visitor.erased.v1', 'visitor.consent_changed.v1', 'conversion.deferred.v1']) {
      const outcome = await log.append({ ...opening(), claim: undefined, events: [{ type, data: {} }] });
      expect([type, outcome]).toMatchObject([type, { status: 'appended' }]);
    }
    // What was counted before the pause.
    for (const type of ['inbound.rejected.v1', 'inbound.deliveries_refused.v1']) {
      const events = [{ type, data: {} }] as const;
      const outcome = await log.append({ ...opening(), claim: undefined, expected: 0, events });
      expect([type, outcome]).toMatchObject([type, { status: 'appended' }]);
    }
    await resume();
  });

  it('refuses all events of a stream by its first one', async () => {
    const [log] = logs;
    const stream = uuidv7();
    const types = ['visitor.visited.v1', 'visitor.erased.v1'] as const;
    const [first, second] = types.map((type) => ({ type, data: {} }));
    await pause();
    const request = { ...opening(), stream, claim: undefined, events: [first, second] } as AppendRequest;
    await expect(log.append(request)).rejects.toThrow(SitePaused);
    expect(await log.readStream(request.category, stream)).toEqual([]);
    await resume();
  });

  it('fails for an earlier version of the service, which would take what is refused for stored', async () => {
    const call = `SELECT cc.append('[]', false, false, NULL, NULL, NULL`;
    for (const earlier of [`${call})`, `${call}, NULL)`])
      await expect(postgres.pool.query(earlier)).rejects.toMatchObject({ code: '42883' });
  });

  it('is open again when the site was removed and added', async () => {
    await pause();
    await operator.execute(new RemoveSite('cli', host));
    await operator.execute(new AddSite('cli', host));
    expect(await logs[0].append(opening())).toMatchObject({ status: 'appended' });
    expect(await new SiteRepository(operator.log).get(host)).toMatchObject({ paused: false });
  });
});

describe('the end of a pause', () => {
  let url: string;
  let operator: Operator;
  let host: string;

  beforeAll(async () => {
    url = await createDatabase();
    operator = await openOperator(url);
  });
  afterAll(async () => {
    await operator?.close();
  });
  beforeEach(async () => {
    host = (await operator.openSite()).host;
  });

  const verified = () => pausedSitesCheck.examine({ postgres: operator.postgres } as VerifyDependencies);

  it('is what the command line advises for a command that needs it', async () => {
    await operator.execute(new PauseSite('cli', host));
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const env = { DATABASE_URL: url, SECRET_KEY };
    expect(await runCli(['webhook', 'push', '--site', host], { env, stdout, stderr })).toBe(1);
    expect(String(stderr.read())).toBe(`${new SitePaused(host).message}\n`);
    await operator.execute(new ResumeSite('cli', host));
  });

  it('is the removal of the site, also if it was paused during that', async () => {
    let isPaused = false;
    const secrets = {
      within: () => ({
        async deleteWebhookSecrets() {
          if (!isPaused) await operator.execute(new PauseSite('cli', host));
          isPaused = true;
        },
      }),
    };
    const handler = new RemoveSiteHandler(new SiteRepository(operator.log), secrets as unknown as SiteSecrets);
    expect(await handler.execute(new RemoveSite('cli', host))).toMatchObject({ removed: true, paused: false });
    expect(isPaused).toBe(true);
    expect((await operator.postgres.pool.query('SELECT FROM cc.paused_sites')).rowCount).toBe(0);
    expect(await verified()).toMatchObject({ ok: true });
  });

  it('is verified: the append refuses the sites that the log says are paused', async () => {
    const { pool } = operator.postgres;
    await pool.query('INSERT INTO cc.paused_sites VALUES ($1)', [host]);
    expect(await verified()).toMatchObject({
      ok: false,
      detail: expect.stringContaining(`${host} is not paused, but`),
    });
    // What the finding says.
    await operator.execute(new PauseSite('cli', host));
    expect(await verified()).toMatchObject({ ok: true });
    await pool.query('DELETE FROM cc.paused_sites');
    expect(await verified()).toMatchObject({ ok: false, detail: expect.stringContaining(`${host} is paused, but`) });
    await operator.execute(new ResumeSite('cli', host));
    expect(await verified()).toMatchObject({ ok: true });
  });
});

describe('a paused site', () => {
  let sandbox: RunningSandbox;
  let operator: Operator;
  let service: TestService;
  let site: TestSite;

  beforeAll(async () => {
    sandbox = await new Sandbox().start();
    const url = await createDatabase();
    operator = await openOperator(url);
    service = await startTestService(url, { DELIVERY_RETRY_SCHEDULE: '1s', INBOUND_DEADLINE: '1s' });
    site = await operator.openSite();
    const request = {
      set: { pixel_id: '111', access_token: 'token' },
      endpoint: `${sandbox.url}/meta@${site.host}`,
    };
    await operator.execute(new ConnectPlatform('cli', site.host, platformOf('meta') as Platform, request, 'meta'));
    await service.refreshSites();
  });
  afterAll(async () => {
    await service?.stop();
    await operator?.close();
    await sandbox?.stop();
  });

  const convert = (orderId: string) =>
    post(service, site, { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });
  const statusOf = async (reply: Reply) =>
    JSON.parse((await getReceipt(service, site, `/${conversionId(reply)}`)).body).results.meta.status as string;
  const behave = async (mode: string) => {
    const body = JSON.stringify({ platform: 'meta', tenant: site.host, mode });
    expect((await fetch(`${sandbox.url}/behave`, { method: 'POST', body })).status).toBe(200);
  };
  const attempts = async () =>
    (await operator.conversions(site.host)).filter(({ data }) => data['attempt'] !== undefined);

  it('answers 503 with Retry-After, sends nothing, and continues with what waited when it is resumed', async () => {
    await behave('server_error');
    const waiting = await convert('A1');
    expect(waiting.status).toBe(200);
    await operator.execute(new PauseSite('cli', site.host));
    await service.refreshSites();
    await behave('ok');

    const refused = await convert('A2');
    expect(refused.status).toBe(503);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(await statusOf(waiting)).toBe('queued');
    const before = (await attempts()).length;
    // The retry is due within a second: an attempt that was under way when the site was paused may still be recorded.
    await eventually(
      async () => {
        const { rows } = await operator.postgres.pool.query(
          `SELECT count(*)::int AS late FROM cc.deliveries WHERE site = $1 AND due < clock_timestamp() - interval '2 seconds'`,
          [site.host],
        );
        return (rows[0] as { late: number }).late;
      },
      (late) => late === 1,
    );
    expect((await attempts()).length - before).toBeLessThanOrEqual(1);
    expect(await statusOf(waiting)).toBe('queued');
    const paused = await new SiteRepository(operator.log).get(site.host);
    await expect(pushTotals({} as never, paused, 'cli')).rejects.toThrow(SitePaused);
    // Since an hour, and still nothing that an operator should look after.
    await operator.postgres.pool.query(`UPDATE cc.deliveries SET due = due - interval '1 hour' WHERE site = $1`, [
      site.host,
    ]);
    const { postgres, log } = operator;
    const doctor = { postgres, log, sites: new SiteRepository(log) } as unknown as DoctorDependencies;
    expect(await owed(doctor)).toMatchObject({ ok: true, detail: expect.stringContaining('none is late') });
    expect((await deliveries(doctor)).detail).toContain(`meta of ${site.host} is paused (the site is paused)`);

    await operator.execute(new ResumeSite('cli', site.host));
    await service.refreshSites();
    await eventually(
      () => statusOf(waiting),
      (status) => status === 'delivered',
    );
    expect((await convert('A2')).status).toBe(200);
  });
});
