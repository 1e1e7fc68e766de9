import { jest } from '@jest/globals';
import { type AttemptWindow } from '../src/delivery/attempt-window.js';
import { DeliveryLeases } from '../src/delivery/delivery-leases.js';
import { LeasedAttempts } from '../src/delivery/leased-attempts.js';
import { OwedDeliveriesScan } from '../src/delivery/owed/owed-deliveries.scan.js';
import type { DeliveryRequest, PlatformDelivery } from '../src/delivery/platform-delivery.js';
import { CONVERSION } from '../src/events/conversion.events.js';
import type { Outcome } from '../src/events/delivery.events.js';
import { Logger } from '../src/kernel/logger.js';
import { uuidv7 } from '../src/kernel/uuid.js';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { createDatabase, openDatabase } from './support/databases.js';
import { startTestServer, type TestServer } from './support/postgres-server.js';
import { eventually } from './support/waiting.js';

const WINDOW: AttemptWindow = {
  first: { startWithinMs: 300, recordWithinMs: 700 },
  owedAfterMs: 800,
  lease: { startWithinMs: 500_000, recordWithinMs: 550_000, endsAfterMs: 600_000 },
};

describe('a failover that lost the last events', () => {
  let server: TestServer;

  // A server of its own with one small database, because its data is copied.
  beforeAll(async () => {
    server = await startTestServer();
  });
  afterAll(() => server.stop());

  it('makes a running scan find again what lost its outcome', async () => {
    const postgres = await openDatabase(await createDatabase(server));
    const log = new PostgresEventLog(postgres);
    const conversion = uuidv7();
    const append = (type: string, data: object) =>
      log.append({
        ...{ category: CONVERSION, stream: conversion, expected: 'any', site: 'shop.example', actor: 'system' },
        events: [{ type, data: { conversionId: conversion, ...data } }],
      });
    // The first query after a restart finds that its connection is gone.
    const outcomes = async () => {
      const events = await log.readStream(CONVERSION, conversion).catch(() => undefined);
      return events?.slice(1).map(({ type }) => type);
    };
    const platform = {
      actsFor: () => true,
      hasLeft: () => false,
      deliver: async ({ platform: name }: DeliveryRequest): Promise<Outcome> => {
        return { conversionId: conversion, platform: name, attempt: 1, status: 'delivered' };
      },
    } as unknown as PlatformDelivery;
    const leases = new DeliveryLeases(postgres, WINDOW);
    const attempts = new LeasedAttempts(leases, log, new Logger('silent'));
    const scan = new OwedDeliveriesScan(postgres, log, platform, attempts, leases, WINDOW);

    await append('conversion.received.v1', { platforms: ['meta'] });
    // The scan attempts nothing until then, and reads all the same.
    const start = jest.spyOn(attempts, 'start').mockResolvedValue(0);
    scan.start(50);
    await eventually(
      async () => scan.owed(),
      (owed) => owed !== undefined,
    );
    const restore = await server.backUp();
    await append('conversion.deferred.v1', { platform: 'meta', attempt: 1, status: 'deferred' });
    const head = await log.head();
    await eventually(
      () => postgres.pool.query(`SELECT reached::integer FROM cc.leases WHERE name = 'deliveries-scan'`),
      ({ rows }) => rows[0].reached >= head,
    );
    await restore();
    await eventually(outcomes, (types) => types?.length === 0);
    start.mockRestore();
    await eventually(outcomes, (types) => (types?.length ?? 0) > 0);
    expect(await outcomes()).toEqual(['conversion.delivered.v1']);

    await scan.stop();
    await log.close();
    await postgres.close();
  });
});
