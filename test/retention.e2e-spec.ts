import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { allHolds } from '../src/app/hold-sources.js';
import { allProjections } from '../src/app/projections.js';
import { Checkpoints } from '../src/checkpoints/checkpoints.js';
import { removalSigner } from '../src/checkpoints/signed-removal.js';
import { SigningKeys } from '../src/checkpoints/signing-keys.js';
import { Sealer } from '../src/kernel/sealing.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import type { AppendRequest } from '../src/log/event.js';
import type { EventLog } from '../src/log/event-log.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { dropExpiredPartitions } from '../src/log/retention/retention.js';
import { nextTickMs } from '../src/outbound/ticks.js';
import type { Postgres } from '../src/postgres/postgres.js';
import { Sandbox } from '../src/sandbox/sandbox.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { SiteSecrets } from '../src/sites/site-secrets.js';
import { commandLine } from './support/command-line.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { thing } from './support/event-log.contract.js';
import { send, startTestService, type TestService } from './support/service.js';
import { createSmallPartitions } from './support/small-partitions.js';
import { eventually } from './support/waiting.js';
import { startReceiver, type WebhookReceiver } from './support/webhook-receiver.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const SITE = 'shop.example';
const PARTITION_EVENTS = 40;
const HOUR_MS = 3_600_000;

/** Hours between ticks, of which none is near: this spec pushes by command. */
function hoursWithoutTick(): number {
  const isFar = (hours: number) => nextTickMs(Date.now(), hours * HOUR_MS) - Date.now() > HOUR_MS / 2;
  return [24, 23, 19, 17].find(isFar) as number;
}

describe('log retention beside a running service', () => {
  let postgres: Postgres;
  let log: EventLog;
  let service: TestService;
  let sandbox: Awaited<ReturnType<Sandbox['start']>>;
  let receiver: WebhookReceiver;
  let environment: Record<string, string>;
  let cli: ReturnType<typeof commandLine>['run'];
  let json: ReturnType<typeof commandLine>['json'];
  let key: string;
  let messages: string[] = [];

  beforeAll(async () => {
    const databaseUrl = await createDatabase();
    environment = {
      DATABASE_URL: databaseUrl,
      SECRET_KEY: randomBytes(32).toString('hex'),
      OUTBOUND_ALLOW_PRIVATE: 'true',
      LOG_RETENTION: '1d',
      OUTBOUND_EVERY: `${hoursWithoutTick()}h`,
    };
    ({ run: cli, json } = commandLine(environment));
    postgres = await openDatabase(databaseUrl);
    await createSmallPartitions(postgres, PARTITION_EVENTS, 12);
    log = new PostgresEventLog(postgres);
    sandbox = await new Sandbox().start();
    receiver = await startReceiver();
    await json(`sites add ${SITE}`);
    await json(`inbound enable ${SITE}`);
    const settings = `--set pixel_id=1234567890 --set access_token=a --endpoint ${sandbox.url}/meta`;
    await json(`platforms connect meta --site ${SITE} ${settings}`);
    await json(`webhook set --site ${SITE} --url ${receiver.url}/totals`);
    key = (await json(`keys create --site ${SITE} --name Shop`)).key;
    service = await startTestService(databaseUrl, environment);
  });
  afterAll(async () => {
    await service?.stop();
    await log?.close();
    await postgres?.close();
    await receiver?.stop();
    await sandbox?.stop();
  });
  beforeEach(() => {
    messages = [];
  });

  /** Regards every event as older than LOG_RETENTION. */
  async function drop(): Promise<number> {
    const sites = new SiteRepository(log);
    const sealer = new Sealer(Buffer.from(environment['SECRET_KEY'] as string, 'hex'));
    const secrets = new SiteSecrets(postgres.pool, sealer);
    const projections = new ProjectionRunner(postgres, allProjections(secrets));
    const holds = allHolds({ postgres, log, sites, projections, settings: readSettings(environment) });
    const keys = new SigningKeys(postgres.pool, sealer);
    const sign = await removalSigner(keys, new Checkpoints(postgres.pool, keys, 'local'));
    const onMessage = (line: string) => messages.push(line);
    return dropExpiredPartitions(postgres, { olderThanMs: -60_000, holds, sign, onMessage });
  }

  it('removes what was delivered and pushed, and history verify accepts the shortened log', async () => {
    for (let order = 1; order <= 45; order += 1) await post(`ORD-${order}`);
    await json(`webhook push --site ${SITE}`);
    for (let order = 46; order <= 90; order += 1) await post(`ORD-${order}`);
    // Two events of each conversion. The first window ends in the second or third partition; the fourth is complete.
    await eventually(
      () => log.head(),
      (head) => head >= 4 * PARTITION_EVENTS,
    );
    await eventually(drop, (dropped) => dropped > 0, { everyMs: 500 });
    await eventually(drop, () => messages.at(-1)?.includes(`the webhook of ${SITE}`) === true);
    await json(`webhook push --site ${SITE}`);
    await eventually(drop, (dropped) => dropped > 0, { everyMs: 500 });
    const { checks } = await json('history verify');
    expect(checks.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
    const { code, stderr } = await cli('events export');
    expect(code).toBe(0);
    expect(stderr).toMatch(/LOG_RETENTION has removed the events up to position \d+, except those of sites/);
  });

  it('waits for an export until its process is killed', async () => {
    const padding = 'x'.repeat(3_000);
    const events: AppendRequest['events'] = [{ type: 'thing.happened.v1', data: { padding } }];
    await Promise.all(Array.from({ length: 100 }, () => log.append(thing(undefined, { events }))));
    // Nothing reads its output, so the export stops when the pipe is full.
    const child = spawn(process.execPath, [CLI, 'events', 'export'], {
      env: { PATH: process.env['PATH'] ?? '', ...environment },
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const exited = once(child, 'exit');
    const holds = () => postgres.pool.query(`SELECT FROM cc.log_holds WHERE name = 'events export'`);
    await eventually(holds, { rowCount: 1 });
    await json(`webhook push --site ${SITE}`);
    await eventually(drop, () => messages.at(-1)?.includes('events export needs') === true);
    const { checks } = JSON.parse((await cli('doctor --json')).stdout);
    const retention = checks.find(({ name }: { name: string }) => name === 'retention');
    expect(retention.detail).toMatch(
      /events export needs the events after position \d+, the oldest of .*, registered at /,
    );
    child.kill('SIGKILL');
    await exited;
    await eventually(drop, (dropped) => dropped > 0, { everyMs: 500 });
    expect((await holds()).rowCount).toBe(0);
  });

  async function post(orderId: string): Promise<void> {
    const body = { email: 'jane@example.com', event: 'purchase', value: 10, currency: 'EUR', orderId };
    const headers = { Host: SITE, 'X-CC-Api-Key': key, 'Content-Type': 'application/json' };
    const { status } = await send(service, {
      method: 'POST',
      path: '/__cc/inbound',
      body: JSON.stringify(body),
      headers,
    });
    expect(status).toBe(200);
  }
});
