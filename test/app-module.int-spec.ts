import { randomBytes } from 'node:crypto';
import { jest } from '@jest/globals';
import { CommandBus } from '@nestjs/cqrs';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { startService } from '../src/app/service.js';
import { PlatformClient } from '../src/delivery/connections/platform-client.js';
import { DeliveryService } from '../src/delivery/delivery.service.js';
import { ReplayDeliveries } from '../src/delivery/replay-deliveries.command.js';
import { RetryScheduler } from '../src/delivery/retry.scheduler.js';
import { KafkaService } from '../src/kafka/kafka.module.js';
import { readSettings } from '../src/kernel/settings/settings.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { ProjectionRunner } from '../src/log/projections/projection-runner.js';
import { OutboundSync } from '../src/outbound/outbound-sync.js';
import { Postgres } from '../src/postgres/postgres.js';
import { LateMatches } from '../src/visitors/late-matches.js';
import { Matcher } from '../src/visitors/matcher.js';
import { createDatabase } from './support/databases.js';

let calls: string[];
let app: NestFastifyApplication;

/** Notes when a method is called and when the promise it returned is settled. */
function record<Name extends string>(name: string, target: Record<Name, (...args: never[]) => unknown>, method: Name) {
  const original = target[method];
  jest.spyOn(target as Record<string, (...args: never[]) => unknown>, method).mockImplementation(async function (
    this: unknown,
    ...args: never[]
  ) {
    calls.push(`${name} …`);
    await original.apply(this, args);
    calls.push(name);
  });
}

/** Calls that ran one after the other: each ended before the next one began. */
const oneByOne = (...names: string[]) => names.flatMap((name) => [`${name} …`, name]);

beforeEach(async () => {
  calls = [];
  record('projections', ProjectionRunner.prototype, 'start');
  record('kafka', KafkaService.prototype, 'start');
  record('delivery', DeliveryService.prototype, 'start');
  const databaseUrl = await createDatabase();
  const SECRET_KEY = randomBytes(32).toString('hex');
  const environment = { PORT: '0', LOG_LEVEL: 'silent', DATABASE_URL: databaseUrl, SECRET_KEY };
  ({ app } = await startService(readSettings(environment)));
  jest.restoreAllMocks();
});
afterEach(async () => {
  jest.restoreAllMocks();
  await app.close();
});

describe('AppModule', () => {
  it('starts dependencies before dependents', () => {
    expect(calls).toEqual(oneByOne('projections', 'kafka', 'delivery'));
  });

  it('stops dependents before dependencies, after HTTP has closed', async () => {
    calls = [];
    record('http', app.getHttpAdapter(), 'close');
    record('outbound sync', OutboundSync.prototype, 'stop');
    record('late matches', LateMatches.prototype, 'stop');
    record('matcher', Matcher.prototype, 'close');
    record('retry scheduler', RetryScheduler.prototype, 'stop');
    record('delivery', DeliveryService.prototype, 'stop');
    record('platform client', PlatformClient.prototype, 'close');
    record('kafka', KafkaService.prototype, 'stop');
    record('projections', ProjectionRunner.prototype, 'stop');
    record('log', PostgresEventLog.prototype, 'close');
    record('postgres', Postgres.prototype, 'close');
    await app.close();
    expect(calls).toEqual([
      ...oneByOne('http', 'outbound sync', 'late matches', 'matcher', 'retry scheduler', 'delivery'),
      ...oneByOne('platform client', 'kafka', 'projections', 'log', 'postgres'),
    ]);
  });

  it('lets no answer be cached, or be taken for another type', async () => {
    const url = await app.getUrl();
    for (const path of [
      '/healthz',
      '/docs',
      '/nowhere',
      '/__cc/inbound',
      '/__cc/inbound/x',
      '/__cc/tag.js',
      '/__cc/collect',
    ]) {
      const { headers } = await fetch(`${url}${path}`);
      expect([path, headers.get('cache-control'), headers.get('x-content-type-options')]).toEqual([
        ...[path, 'no-store', 'nosniff'],
      ]);
    }
  });

  it('executes ReplayDeliveries through the command bus', async () => {
    const range = { after: 0, until: 1_000 };
    const request = {
      site: 'shop.example',
      platform: 'meta',
      range,
      siteVersion: 1,
      statuses: ['failed', 'skipped'],
      nowMs: Date.now(),
      force: false,
      dryRun: true,
    } as const;
    const counts = await app.get(CommandBus, { strict: false }).execute(new ReplayDeliveries('system', request));
    expect(counts).toEqual({ requested: 0, byStatus: {} });
  });
});
