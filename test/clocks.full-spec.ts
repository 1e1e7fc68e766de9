import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { foldDeliveries } from '../src/delivery/delivery.js';
import { CLOCK_STREAM, LOG } from '../src/events/log.events.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { Lease } from '../src/postgres/lease.js';
import { Postgres } from '../src/postgres/postgres.js';
import { type RunningSandbox, Sandbox } from '../src/sandbox/sandbox.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { createFakeClock, type FakeClock, hasFakeClock } from './support/fake-clock.js';
import { temporaryFolder } from './support/folders.js';
import { loosely } from './support/loose-event.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { SECRET_KEY } from './support/secret-key.js';
import { metrics, type Operator, openOperator, post, send, startTestService } from './support/service.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

if (!hasFakeClock) console.warn('SKIPPED: tests with a wrong clock (install the package faketime).');

(hasFakeClock ? describe : describe.skip)('a wrong clock', () => {
  let server: TestServer;
  let databaseClock: FakeClock;
  let databaseUrl: string;
  let operator: Operator;

  beforeAll(async () => {
    databaseClock = createFakeClock();
    server = await startTestServer({ environment: databaseClock.environment });
  });
  afterAll(async () => {
    await server?.stop();
    databaseClock.remove();
  });

  beforeEach(async () => {
    databaseUrl = await createDatabase(server);
    operator = await openOperator(databaseUrl);
  });
  afterEach(async () => {
    databaseClock.set('+0');
    await operator.close();
  });

  const order = () => ({ email: 'jane@example.com', event: 'purchase', value: 10, orderId: uuidv7() });

  describe('of the database', () => {
    it('stores nothing with its time while it is 400 days ahead: appends are refused, and the step is recorded', async () => {
      const site = await operator.openSite();
      const service = await startTestService(databaseUrl);
      const readiness = async () => {
        const { status, body } = await send(service, { path: '/readyz' });
        return { status, clock: JSON.parse(body).clock };
      };
      try {
        expect((await post(service, site, order())).status).toBe(200);
        databaseClock.set('+400d');
        const refused = await post(service, site, order());
        const during = await readiness();
        databaseClock.set('+0');
        expect(refused.status).toBe(503);
        expect(during).toMatchObject({
          status: 503,
          clock: { ok: false, reason: expect.stringContaining('400d ahead') },
        });

        const after = await eventually(readiness, { status: 200 });
        expect(after.clock).toEqual({ ok: true });
        expect((await post(service, site, order())).status).toBe(200);
        const steps = await eventually(() => operator.log.readStream(LOG, CLOCK_STREAM), { length: 2 });
        expect(loosely(steps).map(({ data }) => Math.round(Number(data['stepMs']) / DAY_MS))).toEqual([400, -400]);
        expect((await metrics(service)).get('cc_clock_steps_total')).toBe(2);
        const events = await operator.log.read();
        expect(events.filter(({ time }) => Date.parse(time) > Date.now() + MINUTE_MS)).toEqual([]);
        expect(events.filter(({ type }) => type === 'conversion.received.v1')).toHaveLength(2);
      } finally {
        await service.stop();
      }
    });

    it('is not followed by what starts meanwhile', async () => {
      databaseClock.set('+400d');
      const messages: string[] = [];
      const onMessage = (line: string) => {
        messages.push(line);
        databaseClock.set('+0');
      };
      const postgres = await Postgres.open({ databaseUrl, dataDir: tmpdir(), onMessage });
      const aheadMs = postgres.clock.nowMs() - Date.now();
      const refusal = postgres.clock.refusal();
      await postgres.close();
      expect(messages).toEqual([
        expect.stringMatching(/^Waiting: the database's clock is 400d ahead of the clock of this machine\./),
      ]);
      expect(refusal).toBeUndefined();
      expect(Math.abs(aheadMs)).toBeLessThan(MINUTE_MS);
    });

    it('neither ends nor extends a lease', async () => {
      const others = await openDatabase(databaseUrl);
      const lease = (await Lease.take(operator.postgres, 'a')) as Lease;
      const untilMs = async () => {
        const { rows } = await others.pool.query<{ until: Date }>(`SELECT until FROM cc.leases WHERE name = 'a'`);
        return (rows[0] as { until: Date }).until.getTime();
      };
      try {
        const before = await untilMs();
        databaseClock.set('+400d');
        expect(await Lease.take(others, 'a')).toBeUndefined();
        const renewed = await eventually(untilMs, (until) => until > before);
        databaseClock.set('+0');
        expect(renewed).toBeLessThan(Date.now() + MINUTE_MS);
        expect(lease.isLost).toBe(false);
      } finally {
        await lease.release();
        await others.close();
      }
    });
  });

  describe('of an instance', () => {
    let dataDir: string;
    let sandbox: RunningSandbox;
    let clock: FakeClock;
    let service: ServiceProcess | undefined;

    beforeEach(async () => {
      dataDir = temporaryFolder('cc-clocks-');
      sandbox = await new Sandbox().start();
    });
    afterEach(async () => {
      service?.child.kill('SIGKILL');
      clock.remove();
      await sandbox.stop();
      rmSync(dataDir, { recursive: true });
    });

    async function start(offset: string): Promise<ServiceProcess> {
      clock = createFakeClock(offset);
      service = await spawnService(dataDir, {
        ...clock.environment,
        ...{ DATABASE_URL: databaseUrl, SECRET_KEY, DELIVERY_RETRY_SCHEDULE: '1s', OUTBOUND_ALLOW_PRIVATE: 'true' },
      });
      return service;
    }

    /** A check of `doctor` on the machine of the instance. */
    function doctorCheck(name: string) {
      const env = {
        PATH: process.env['PATH'],
        ...clock.environment,
        DATA_DIR: dataDir,
        DATABASE_URL: databaseUrl,
        SECRET_KEY,
      };
      const { stdout } = spawnSync(process.execPath, [CLI, 'doctor', '--json'], { env, encoding: 'utf8' });
      const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string }[] };
      return checks.find((check) => check.name === name);
    }

    async function openMetaSite() {
      const site = await operator.openSite();
      const set = { pixel_id: '1234567890', access_token: 'token' };
      await operator.connect(site.host, 'meta', set, `${sandbox.url}/meta@t1`);
      return site;
    }

    const readiness = async ({ url }: ServiceProcess) => {
      const response = await fetch(`${url}/readyz`);
      return { status: response.status, clock: ((await response.json()) as { clock: unknown }).clock };
    };

    const metaOutcomes = async (conversion: string) =>
      foldDeliveries(await operator.log.readStream('conversion', conversion)).map(({ last }) => last?.status);

    it('does not stop deliveries while it is 8 days ahead, and the difference is named', async () => {
      const site = await openMetaSite();
      const ahead = await start('+8d');
      const { status, conversion } = await convert(ahead, site, order());
      expect(status).toBe(200);
      await eventually(
        () => metaOutcomes(conversion),
        ([outcome]) => outcome === 'delivered',
      );
      const reason = expect.stringContaining('8d behind the clock of this machine');
      expect(await readiness(ahead)).toEqual({ status: 200, clock: { ok: false, reason } });
      expect(doctorCheck('clock')).toMatchObject({ ok: false, detail: reason });
    });

    it('does not delay retries while it is an hour ahead', async () => {
      const site = await openMetaSite();
      const behaviour = JSON.stringify({ platform: 'meta', tenant: 't1', mode: 'server_error', times: 1 });
      expect((await fetch(`${sandbox.url}/behave`, { method: 'POST', body: behaviour })).status).toBe(200);
      const { conversion } = await convert(await start('+1h'), site, order());
      await eventually(
        () => metaOutcomes(conversion),
        ([outcome]) => outcome === 'delivered',
      );
      expect(await operator.log.readStream('conversion', conversion)).toHaveLength(3);
    });
  });
});

function convert(
  { url }: ServiceProcess,
  { host, key }: { host: string; key: string },
  body: object,
): Promise<{ status: number | undefined; conversion: string }> {
  const headers = { Host: host, 'X-CC-Api-Key': key, 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const sent = request(`${url}/__cc/inbound`, { method: 'POST', headers }, (response) => {
      response.resume().on('end', () => {
        resolve({ status: response.statusCode, conversion: String(response.headers['x-cc-conversion-id']) });
      });
    });
    sent.on('error', reject).end(JSON.stringify(body));
  });
}
