import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { claiming, thing } from '../support/event-log.contract.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';

describe('the event log', () => {
  let server: TestServer;
  let postgres: Postgres;
  let log: PostgresEventLog;

  beforeEach(async () => {
    server = await startTestServer();
    postgres = await openDatabase(await createDatabase(server));
    log = new PostgresEventLog(postgres);
  });
  afterEach(async () => {
    await log.close();
    await postgres.close();
    await server.stop();
  });

  it('times out when the server is frozen, and a retry is accepted or a duplicate', async () => {
    await log.append(thing());
    server.freeze();
    const key = randomUUID();
    const frozen = await log.append(claiming(key)).catch((error: Error) => error.name);
    server.thaw();
    expect(frozen).toBe('LogUnavailable');
    const again = await log.append(claiming(key));
    expect(['appended', 'claimed']).toContain(again.status);
    expect(await log.read()).toHaveLength(2);
  });

  it('keeps every acknowledged event after kill -9 of the server', async () => {
    const acknowledged: string[] = [];
    for (let round = 0; round < 3; round += 1) {
      const until = performance.now() + 300;
      const writing = (async () => {
        while (performance.now() < until) {
          const requests = Array.from({ length: 20 }, () => thing());
          const outcomes = await Promise.allSettled(requests.map((request) => log.append(request)));
          outcomes.forEach((outcome, index) => {
            if (outcome.status === 'fulfilled') acknowledged.push(`thing-${requests[index]?.stream}`);
          });
        }
      })();
      await sleep(150);
      await server.kill9();
      await server.restart();
      await writing;
    }
    const stored = new Set((await log.read()).map(({ stream }) => stream));
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(acknowledged.filter((stream) => !stored.has(stream))).toEqual([]);
  });
});
