import { randomUUID } from 'node:crypto';
import { allEventChecks, allStreamChecks } from '../src/history/checks.js';
import { pausedSitesCheck } from '../src/history/reconciliation/paused-sites.check.js';
import { type VerifyDependencies, verify } from '../src/history/verify.js';
import { SitePaused } from '../src/kernel/errors.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { moveOut } from '../src/moves/move-out.js';
import { pushTotals } from '../src/outbound/operate-webhook.js';
import { platformOf } from '../src/platforms/index.js';
import type { Platform } from '../src/platforms/platform.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { ConnectPlatform, PauseConnection, ResumeConnection } from '../src/sites/connections/connection.commands.js';
import { CancelMove, StartMove } from '../src/sites/move.commands.js';
import { AddSite, PauseSite, RemoveSite } from '../src/sites/site.commands.js';
import { SiteMoved, SiteRepository } from '../src/sites/site-repository.js';
import { createDatabase } from './support/databases.js';
import { claiming } from './support/event-log.contract.js';
import { SECRET_KEY } from './support/secret-key.js';
import {
  conversionId,
  getReceipt,
  type Operator,
  openOperator,
  post,
  type Reply,
  send,
  startTestService,
  type TestService,
  type TestSite,
} from './support/service.js';
import { eventually } from './support/waiting.js';

describe('a site that leaves this cell', () => {
  let sandbox: RunningSandbox;
  let url: string;
  let operator: Operator;
  let service: TestService;
  let site: TestSite;

  beforeAll(async () => {
    sandbox = await new Sandbox().start();
    url = await createDatabase();
    operator = await openOperator(url);
    service = await startTestService(url, { DELIVERY_RETRY_SCHEDULE: '1s', INBOUND_DEADLINE: '2s' });
  });
  afterAll(async () => {
    await service?.stop();
    await operator?.close();
    await sandbox?.stop();
  });
  beforeEach(async () => {
    site = await operator.openSite();
    const request = { set: { pixel_id: '111', access_token: 'token' }, endpoint: `${sandbox.url}/meta@${site.host}` };
    await operator.execute(new ConnectPlatform('cli', site.host, platformOf('meta') as Platform, request, 'meta'));
    await service.refreshSites();
  });

  const sites = () => new SiteRepository(operator.log);
  const start = (epoch = 1) => operator.execute(new StartMove('cli', site.host, 'b', epoch));
  const leave = (epoch = 1) => moveOut(operator, { actor: 'cli', host: site.host, to: 'b', epoch });
  const convert = (orderId: string) =>
    post(service, site, { event: 'purchase', email: 'jane@example.com', value: 5, currency: 'EUR', orderId });
  const statusOf = async (reply: Reply) =>
    JSON.parse((await getReceipt(service, site, `/${conversionId(reply)}`)).body).results.meta.status as string;
  const holds = async () =>
    (await operator.postgres.pool.query('SELECT closed FROM cc.paused_sites WHERE site = $1', [site.host])).rows;
  const verified = () => pausedSitesCheck.examine({ postgres: operator.postgres } as VerifyDependencies);

  it('is paused once the move has started, and sends what waited when it is cancelled', async () => {
    await operator.execute(new PauseConnection('cli', site.host, 'meta'));
    await service.refreshSites();
    const accepted = await convert('A1');
    await start();
    await start();
    await service.refreshSites();
    expect(await convert('A2')).toMatchObject({
      status: 503,
      headers: { 'retry-after': expect.stringMatching(/^\d+$/) },
    });
    expect(await holds()).toEqual([{ closed: false }]);
    expect(await verified()).toMatchObject({ ok: true });
    await operator.execute(new ResumeConnection('cli', site.host, 'meta'));
    expect(await statusOf(accepted)).toBe('queued');
    await expect(pushTotals({} as never, await sites().get(site.host), 'cli')).rejects.toThrow(SitePaused);
    await expect(operator.execute(new RemoveSite('cli', site.host))).rejects.toThrow('--cancel');
    await expect(operator.execute(new StartMove('cli', site.host, 'c', 2))).rejects.toThrow('cell b');
    await operator.execute(new CancelMove('cli', site.host));
    expect(await holds()).toEqual([]);
    await operator.execute(new CancelMove('cli', site.host));
    await expect(leave()).rejects.toThrow('cancelled');
    await service.refreshSites();
    await eventually(
      () => statusOf(accepted),
      (status) => status === 'delivered',
    );
    await expect(start(1)).rejects.toThrow('has moved in the meantime');
    expect(await start(2)).toMatchObject({ epoch: 2, move: { state: 'leaving' } });
  });

  it('is closed when it has left: 503, no event but erasures, no change, and it says where it is', async () => {
    await convert('A1');
    await start();
    const departure = await leave();
    expect(await leave()).toEqual(departure);
    const events = await operator.log.read({ site: site.host });
    expect(departure).toEqual({ to: 'b', epoch: 1, events: events.length, position: events.at(-1)?.position });
    expect(events.at(-1)?.type).toBe('site.moved_out.v1');
    await service.refreshSites();

    for (const reply of [
      await convert('A2'),
      await post(service, { ...site, key: 'wrong' }, { event: 'lead', email: 'jane@example.com' }),
      await send(service, {
        ...{ path: '/__cc/collect', method: 'POST', body: '{"v":1}' },
        headers: { host: site.host, 'content-type': 'text/plain', origin: `https://${site.host}` },
      }),
    ]) {
      expect(reply.status).toBe(503);
      expect(Number(reply.headers['retry-after'])).toBeGreaterThan(0);
    }
    // Not even what a stale instance sends, and also no stream that has begun.
    await expect(operator.log.append({ ...claiming(randomUUID()), site: site.host })).rejects.toThrow(SitePaused);
    const [first] = events.filter(({ stream }) => stream.startsWith('conversion-'));
    const begun = { category: 'conversion', stream: first?.stream.slice('conversion-'.length) as string };
    const outcome = [{ type: 'conversion.deferred.v1', data: {} }] as const;
    await expect(
      operator.log.append({ ...begun, expected: 'any', site: site.host, actor: 'system', events: outcome }),
    ).rejects.toThrow(SitePaused);
    const erased = {
      category: 'visitor',
      stream: randomUUID(),
      expected: 'new',
      site: site.host,
      actor: 'cli',
    } as const;
    expect(
      await operator.log.append({
        ...erased,
        events: [{ type: 'visitor.erased.v1', data: { visits: 0, conversions: 0 } }],
      }),
    ).toMatchObject({ status: 'appended' });

    await expect(operator.execute(new PauseSite('cli', site.host))).rejects.toThrow(SiteMoved);
    await expect(operator.execute(new PauseSite('cli', site.host))).rejects.toThrow('has moved to cell b');
    await expect(operator.execute(new AddSite('cli', site.host))).rejects.toThrow('already belongs to');
    expect(await sites().findByHost(site.host)).toMatchObject({ move: { state: 'left', to: 'b' }, epoch: 1 });
  });

  it('is verified: the append refuses what the log says, with the events of a site that has left or arrives', async () => {
    await operator.execute(new PauseSite('cli', site.host));
    await start();
    await leave();
    expect(await holds()).toEqual([{ closed: true }]);
    expect(await verified()).toMatchObject({ ok: true });
    const { pool } = operator.postgres;
    await pool.query('UPDATE cc.paused_sites SET closed = false WHERE site = $1', [site.host]);
    expect(await verified()).toMatchObject({ ok: false, detail: expect.stringContaining('has left or is arriving') });
    // What the finding says.
    await leave();
    expect(await verified()).toMatchObject({ ok: true });

    const other = await operator.openSite();
    await pool.query('INSERT INTO cc.paused_sites (site, closed) VALUES ($1, true)', [other.host]);
    expect(await verified()).toMatchObject({ ok: false, detail: expect.stringContaining(`${other.host} is in this`) });
    await pool.query('DELETE FROM cc.paused_sites WHERE site = $1', [other.host]);
    expect(await verified()).toMatchObject({ ok: true });
  });

  it('shows an event that was stored after the site had left', async () => {
    await start();
    await leave();
    const { pool } = operator.postgres;
    await pool.query('DELETE FROM cc.paused_sites WHERE site = $1', [site.host]);
    await operator.log.append({ ...claiming(randomUUID()), site: site.host });
    await leave();
    const [pauses] = (await checkLog()).checks.filter(({ name }) => name === 'pauses');
    expect(pauses).toMatchObject({ ok: false, detail: expect.stringContaining(`although ${site.host} was closed at`) });
  });

  async function checkLog() {
    const { postgres, log } = operator;
    const settings = readSettings({ DATABASE_URL: url, SECRET_KEY });
    const dependencies = { postgres, log, settings, until: await log.head(), removedUntil: 0, trust: {} };
    return verify(
      { ...dependencies, progress: () => {} } as unknown as VerifyDependencies,
      allEventChecks(),
      allStreamChecks(false, postgres.clock.nowMs()),
      [],
    );
  }
});
