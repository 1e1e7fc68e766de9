import { randomBytes } from 'node:crypto';
import { signature } from '../src/http/webhook-signature.js';
import type { SyncLine } from '../src/outbound/sync-log.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { commandLine, type Words } from './support/command-line.js';
import { createDatabase } from './support/databases.js';
import { acceptedPushes, parsePush, sum } from './support/outbound.js';
import { metrics, post, startTestService, type TestService, type TestSite } from './support/service.js';
import { eventually } from './support/waiting.js';
import { answerWith, type Call, startReceiver } from './support/webhook-receiver.js';

const HOST = 'shop.example';
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ISO = expect.stringMatching(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);

const receiver = await startReceiver();
const sandbox = await new Sandbox().start();
const environment = {
  DATABASE_URL: await createDatabase(),
  SECRET_KEY: randomBytes(32).toString('hex'),
  OUTBOUND_ALLOW_PRIVATE: 'true',
  OUTBOUND_TIMEOUT: '1s',
};
const { run: cli, json, lines: printed } = commandLine(environment);
const lines = (command: string, ...words: Words) => printed<SyncLine>(command, ...words);
let door: TestSite;
let orders = 0;

beforeAll(async () => {
  await json(`sites add ${HOST} --alias www.shop.example`);
  await json(`inbound enable ${HOST}`);
  const { key, id } = await json(`keys create --site ${HOST} --name Shop`);
  door = { host: HOST, key, keyId: id };
});
afterAll(async () => {
  await sandbox.stop();
  await receiver.stop();
});
beforeEach(() => {
  receiver.answer = answerWith(200);
});

describe('the webhook command without a service', () => {
  it('reports a missing webhook with the command that sets one', async () => {
    for (const word of ['show', 'test', 'push', 'enable', 'disable'])
      expect(await refused(`webhook ${word} --site ${HOST}`)).toBe(
        `Site ${HOST} has no webhook. Set one with "webhook set --site ${HOST} --url https://…".\n`,
      );
    const elsewhere = `webhook set --site ${HOST} --url http://10.0.0.1/`;
    expect(await refused(elsewhere, { OUTBOUND_ALLOW_PRIVATE: 'false' })).toMatch(/^--url: .* has to begin with https/);
  });

  it('sets a webhook and shows a generated secret once', async () => {
    const set = await json(`webhook set --site www.shop.example --url ${receiver.url}/made`);
    expect(set).toEqual({
      url: `${receiver.url}/made`,
      enabled: true,
      since: ISO,
      secret: expect.stringMatching(/^whsec_/),
    });
    const { secret, ...rest } = set;
    expect(await json(`webhook show --site ${HOST}`)).toEqual(rest);
    expect(await json(`webhook set --site ${HOST} --url ${receiver.url}/made`)).toEqual(rest);
    const { stdout } = await cli('events export --json');
    expect(stdout).toContain('site.webhook_configured.v1');
    expect(stdout).not.toContain(secret);
  });

  it('sends a test push without closing a window', async () => {
    const tested = await json(`webhook test --site ${HOST}`);
    expect(tested).toEqual({
      url: `${receiver.url}/made`,
      enabled: true,
      ok: true,
      httpStatus: 200,
      durationMs: expect.any(Number),
    });
    const [call] = receiver.callsTo('/made') as [Call];
    expect(call.body).toBe('{"conversions":0,"bot_traffic_removed":0}');
    expect(call.headers).toMatchObject({ 'x-cc-test': 'true', authorization: expect.stringMatching(/^Bearer whsec_/) });
    receiver.answer = answerWith(302, { location: '/elsewhere' });
    const { code, stdout, stderr } = await cli(`webhook test --site ${HOST}`);
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/^The receiver did not accept the push: HTTP 302: redirects .*\n$/),
    ]);
    expect(stdout).toContain('reason');
    expect(await json(`webhook show --site ${HOST}`)).not.toHaveProperty('lastPush');
    expect(receiver.callsTo('/elsewhere')).toEqual([]);
  });

  it('changes the secret: new bearer at once, both signatures during the overlap', async () => {
    await json(`webhook set --site ${HOST} --url ${receiver.url}/totals --secret first`);
    await json(`webhook set --site ${HOST} --url ${receiver.url}/totals --secret ${SECRET}`);
    await json(`webhook push --site ${HOST}`);
    const [{ headers, body }] = receiver.callsTo('/totals') as [Call];
    const signed = (secret: string) =>
      signature(secret, String(headers['webhook-id']), Number(headers['webhook-timestamp']), body);
    expect(headers.authorization).toBe(`Bearer ${SECRET}`);
    expect(headers['webhook-signature']).toBe(`${signed(SECRET)} ${signed('first')}`);
  });

  it('pushes manually and exits with 1 and the reason when the receiver refuses', async () => {
    receiver.answer = answerWith(503);
    const { code, stdout, stderr } = await cli(`webhook push --site ${HOST}`);
    expect([code, stderr]).toEqual([
      1,
      'The receiver did not accept the push: HTTP 503. Fix the receiver and run the command again.\n',
    ]);
    expect(stdout).toMatch(/next attempt +\d{4}/);
    const failed = await json(`webhook show --site ${HOST}`);
    expect(failed.lastPush).toMatchObject({
      status: 'failed',
      reason: 'HTTP 503',
      httpStatus: 503,
      attempt: 1,
      nextTry: ISO,
    });
    receiver.answer = answerWith(200);
    const { lastPush } = await json(`webhook push --site ${HOST}`);
    expect(lastPush).toMatchObject({ status: 'delivered', fromPosition: failed.lastPush.toPosition, conversions: 0 });
  });
});

describe('the webhook of a running service', () => {
  let service: TestService;

  beforeAll(async () => {
    service = await startTestService(environment['DATABASE_URL'] as string, {
      ...environment,
      OUTBOUND_EVERY: '1s',
      OUTBOUND_RETRY_SCHEDULE: '200ms',
    });
  });
  afterAll(() => service?.stop());

  it('pushes at every tick, and the sums equal the accepted conversions', async () => {
    for (let count = 0; count < 12; count += 1) await buy();
    await json(`sites set ${HOST} --block @blocked.example`);
    await service.refreshSites();
    await post(service, door, { email: 'jane@blocked.example', event: 'lead' });
    const trial = await json(`keys create --site ${HOST} --name Try --trial`);
    await service.refreshSites();
    await post(service, { ...door, key: trial.key }, { email: 'jane@example.com', event: 'lead' });
    await eventually(
      async () => sum(acceptedPushes(receiver.callsTo('/totals'))),
      ({ conversions, bot_traffic_removed }) => conversions === 12 && bot_traffic_removed === 1,
    );
    const pushes = acceptedPushes(receiver.callsTo('/totals'));
    expect(pushes.slice(1).map(({ from }) => from)).toEqual(pushes.slice(0, -1).map(({ to }) => to));
    const seen = await metrics(service);
    expect(seen.get('cc_outbound_pushes_total{outcome="delivered"}')).toBeGreaterThan(0);
  });

  it('is disabled by a 410, visible everywhere, and sends the pending window when enabled again', async () => {
    receiver.answer = answerWith(410);
    await eventually(
      () => json(`webhook show --site ${HOST}`),
      ({ enabled }) => !enabled,
    );
    const { lastPush: held, ...gone } = await json(`webhook show --site ${HOST}`);
    expect(gone).toMatchObject({ enabled: false, reason: 'HTTP 410: the receiver asked for no more pushes' });
    expect(held).not.toHaveProperty('nextTry');
    expect(await refused(`webhook push --site ${HOST}`)).toMatch(/is disabled \(HTTP 410.*"webhook enable/);
    const { code, stdout } = await cli('doctor', { ...environment, PORT: '0' });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /FAIL {2}webhooks +1 set; shop\.example has been disabled since .*\n.*"webhook enable --site shop\.example"/,
    );
    await buy();
    receiver.answer = answerWith(200);
    expect(await json(`webhook enable --site ${HOST}`)).toMatchObject({ enabled: true });
    await eventually(() => sum(acceptedPushes(receiver.callsTo('/totals'))), { conversions: 13 });
    const repeats = receiver
      .callsTo('/totals')
      .map(parsePush)
      .filter(({ id }) => id === held.id);
    expect(repeats.map((push) => push.accepted)).toEqual([...repeats.slice(1).map(() => false), true]);
  });

  it('is reported as disabled by an operator', async () => {
    expect(await json(`webhook disable --site ${HOST}`)).toMatchObject({ enabled: false });
    expect(await refused(`webhook push --site ${HOST}`)).toMatch(/^The webhook of shop\.example is disabled\. /);
    expect((await cli(`webhook set --site ${HOST} --url ${receiver.url}/totals`)).stderr).toContain('webhook enable');
    await json(`webhook enable --site ${HOST}`);
  });

  it('has every push attempt in the sync log, with the deliveries', async () => {
    await json(`platforms connect segment --site ${HOST} --set write_key=w --endpoint ${sandbox.url}/segment`);
    await service.refreshSites();
    await buy();
    await eventually(() => sum(acceptedPushes(receiver.callsTo('/totals'))), { conversions: 14 });
    const all = await lines('sync log --site www.shop.example');
    expect(all.map(({ time }) => time)).toEqual(all.map(({ time }) => time).sort());
    expect(all.find(({ kind }) => kind === 'delivery')).toEqual({
      ...{ time: ISO, kind: 'delivery', platform: 'segment', conversionId: expect.any(String), attempt: 1 },
      ...{ status: 'delivered', httpStatus: 200, durationMs: expect.any(Number) },
      ...{ orderId: `ORD-${orders}`, event: 'purchase' },
    });
    const failed = await lines(`sync log --site ${HOST} --status failed`);
    expect(failed[0]).toEqual({
      ...{ time: ISO, kind: 'push', attempt: 1, status: 'failed', reason: 'HTTP 503', httpStatus: 503 },
      ...{ durationMs: expect.any(Number), nextTry: ISO, payload: { conversions: 0, bot_traffic_removed: 0 } },
      window: {
        ...{ stretchId: expect.any(String), fromPosition: expect.any(Number), toPosition: expect.any(Number) },
        ...{ windowStart: ISO, windowEnd: ISO },
      },
    });
    expect(failed.at(-1)).toMatchObject({ httpStatus: 410 });
    expect(failed.at(-1)).not.toHaveProperty('nextTry');
    await json(`webhook disable --site ${HOST}`);
    const pushed = async () => (await lines(`sync log --site ${HOST}`)).filter(({ kind }) => kind === 'push').length;
    await eventually(pushed, (count) => count === receiver.callsTo('/totals').length);
    await json(`webhook enable --site ${HOST}`);
    const [first, second] = all as [SyncLine, SyncLine];
    expect(await lines(`sync log --site ${HOST} --platform segment`)).toHaveLength(1);
    expect(await lines(`sync log --site ${HOST} --to`, second.time)).toEqual([first]);
    expect(await lines(`sync log --site ${HOST} --from 2999-01-01`)).toEqual([]);
    const { stdout } = await cli(`sync log --site ${HOST}`);
    expect(stdout.split('\n')[1]).toMatch(
      /^\S+Z {2}push +0 \+ 0 +\S+ {2}attempt 1 +refused +503, \d+ ms, HTTP 503, next attempt \S+Z$/,
    );
    expect((await cli(`sync log --site ${HOST} --platform nothing`)).code).not.toBe(0);
  });

  it('lists the attempts of an order, and the deliveries that wait now, in the sync log', async () => {
    const order = `ORD-${orders}`;
    const ofOrder = `sync log --site ${HOST} --order ${order}`;
    const delivered = await lines(ofOrder);
    expect(delivered).toMatchObject([{ platform: 'segment', status: 'delivered', orderId: order }]);
    expect(await lines(`${ofOrder} --last 1`)).toEqual(delivered);
    expect(await lines(`${ofOrder} --status failed`)).toEqual([]);
    expect(await refused(`sync log --site ${HOST} --order none`)).toContain('no conversion with order none');
    await json(`platforms pause segment --site ${HOST}`);
    await service.refreshSites();
    await buy();
    const waiting = await eventually(
      () => lines(`sync log --site ${HOST} --status queued`),
      ({ length }) => length > 0,
    );
    expect(waiting).toMatchObject([{ status: 'queued', platform: 'segment', orderId: `ORD-${orders}`, nextTry: ISO }]);
    expect(await lines(`${ofOrder} --status queued`)).toEqual([]);
    await json(`platforms resume segment --site ${HOST}`);
    await eventually(
      () => lines(`sync log --site ${HOST} --status queued`),
      ({ length }) => length === 0,
    );
  });

  it('exports one row per conversion, with a column per platform', async () => {
    const table = async (options: string) => {
      const { stdout } = await cli(`events export --table conversions ${options}`);
      return stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { order_id?: string; segment: string });
    };
    const rows = (await table(`--site ${HOST}`)).filter(({ order_id }) => order_id?.startsWith('ORD-'));
    expect(rows.map(({ order_id }) => order_id)).toEqual(Array.from({ length: orders }, (_, at) => `ORD-${at + 1}`));
    expect(rows.at(-1)).toMatchObject({ event: 'purchase', segment: 'delivered' });
    expect(await table('--order ORD-1')).toMatchObject([{ order_id: 'ORD-1', segment: null }]);
    expect((await cli('events export --table conversions --type site.added.v1')).code).toBe(2);
  });

  async function buy(): Promise<void> {
    orders += 1;
    const { status } = await post(service, door, {
      email: 'jane@example.com',
      event: 'purchase',
      orderId: `ORD-${orders}`,
    });
    expect(status).toBe(200);
  }
});

async function refused(command: string, ...words: Words): Promise<string> {
  const { code, stdout, stderr } = await cli(command, ...words);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  return stderr;
}
