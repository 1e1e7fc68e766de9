import { readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { Postgres } from '../src/postgres/postgres.js';
import { RevokeKey } from '../src/sites/keys/key.commands.js';
import { RevokeKeyHandler } from '../src/sites/keys/key.handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { temporaryFolder } from './support/folders.js';
import { printSeed, seededRandom } from './support/seed.mjs';
import { type ServiceProcess, sharedDatabase, spawnService } from './support/service-process.js';
import { eventually } from './support/waiting.js';

/** An instance that has not read the log for longer reads it before it accepts a key. */
const KEYS_FRESH_MS = 1_000;
const random = seededRandom(printSeed('crash'));

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Posts conversions over keep-alive connections, as a busy sender does. */
function poster(service: ServiceProcess, agent = new Agent({ keepAlive: true, maxSockets: 32 })) {
  return (orderId: string): Promise<Reply> =>
    new Promise((resolve, reject) => {
      const sent = request(
        `${service.url}/__cc/inbound`,
        {
          method: 'POST',
          agent,
          headers: { host: 'localhost', 'x-cc-api-key': service.key, 'content-type': 'application/json' },
        },
        (response) => {
          let body = '';
          response.setEncoding('utf8').on('data', (chunk) => {
            body += chunk;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, body }));
          response.on('error', reject);
        },
      );
      sent.on('error', reject);
      sent.end(JSON.stringify({ email: `${orderId}@example.com`, event: 'purchase', value: 1, orderId }));
    });
}

describe('the service process', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = temporaryFolder('cc-crash-');
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));

  /** The number of received conversions of each order, from the log. */
  async function receivedOrders(): Promise<Map<string, number>> {
    const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    const log = new PostgresEventLog(postgres);
    const orders = new Map<string, number>();
    for (const event of await log.read({ types: ['conversion.received.v1'] })) {
      const orderId = String(event.data['orderId']);
      orders.set(orderId, (orders.get(orderId) ?? 0) + 1);
    }
    await log.close();
    await postgres.close();
    return orders;
  }

  const postmasterPid = () => Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);

  /** Resolves when so many further conversions have been acknowledged. */
  function untilAcknowledged(acknowledged: readonly string[], further: number): Promise<unknown> {
    const wanted = acknowledged.length + further;
    return eventually(
      async () => acknowledged.length,
      (count) => count >= wanted,
    );
  }

  it.each(['the service', 'PostgreSQL', 'both'])(
    'keeps every acknowledged conversion after kill -9 of %s and accepts or deduplicates retries of the others',
    async (victim) => {
      const acknowledged: string[] = [];
      const unanswered: string[] = [];
      let count = 0;
      let service = await spawnService(dataDir);
      // Twice, so that the second crash meets what the first one left behind. `npm run drills` repeats it hundreds of times.
      for (let round = 0; round < 2; round += 1) {
        const post = poster(service);
        let loading = true;
        const load = Promise.all(
          Array.from({ length: 24 }, async () => {
            while (loading) {
              const orderId = `ORD-${count++}`;
              const reply = await post(orderId).catch(() => undefined);
              if (reply?.status === 200) acknowledged.push(orderId);
              else unanswered.push(orderId);
              if (!reply) await sleep(20);
            }
          }),
        );
        await untilAcknowledged(acknowledged, Math.round(20 + random() * (400 - 20)));
        if (victim !== 'the service') process.kill(postmasterPid(), 'SIGKILL');
        // Long enough for the service to notice, and sometimes to restart PostgreSQL, before it is killed as well.
        if (victim === 'PostgreSQL') await sleep(random() * 400);
        await service.end('SIGKILL');
        loading = false;
        await load;
        service = await spawnService(dataDir);
      }
      // An unacknowledged conversion may have been stored: its retry is either accepted or a duplicate.
      const post = poster(service);
      for (const orderId of unanswered.slice(0, 200)) {
        const { status, body } = await post(orderId);
        expect(status).toBe(200);
        expect(['{"ok":true,"event":"purchase","results":{}}', '{"ok":true,"deduped":true}']).toContain(body);
      }
      expect(await service.end('SIGTERM')).toBe(0);

      const received = await receivedOrders();
      expect(acknowledged.length).toBeGreaterThan(50);
      expect(acknowledged.filter((orderId) => received.get(orderId) !== 1)).toEqual([]);
      expect(unanswered.slice(0, 200).filter((orderId) => received.get(orderId) !== 1)).toEqual([]);
    },
  );

  it('restarts its embedded PostgreSQL after kill -9 and stores the request that was in flight', async () => {
    const service = await spawnService(dataDir);
    const post = poster(service);
    expect((await post('ORD-1')).status).toBe(200);
    process.kill(postmasterPid(), 'SIGKILL');
    let reply = await post('ORD-2');
    // On a slow machine the restart may outlast the request's timeout. The answer is then 503 and a retry succeeds.
    while (reply.status === 503) reply = await post('ORD-2');
    expect(reply.status).toBe(200);
    await eventually(async () => (await fetch(`${service.url}/readyz`)).status, 200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect([...(await receivedOrders()).entries()]).toEqual([
      ['ORD-1', 1],
      ['ORD-2', 1],
    ]);
  });

  it('exits with code 0 on SIGTERM under keep-alive load without failing a request', async () => {
    const service = await spawnService(dataDir);
    const post = poster(service);
    const acknowledged: string[] = [];
    const failures: string[] = [];
    let stopping = false;
    let refused = false;
    const load = Promise.all(
      Array.from({ length: 16 }, async (_, client) => {
        for (let turn = 0; !refused; turn += 1) {
          const orderId = `ORD-${client}-${turn}`;
          try {
            const { status } = await post(orderId);
            if (status === 200) acknowledged.push(orderId);
            else failures.push(`${status}`);
          } catch (error) {
            // A refused connection never carried a request, so the sender knows that nothing was stored.
            if (stopping && (error as NodeJS.ErrnoException).code === 'ECONNREFUSED') refused = true;
            else failures.push(String((error as NodeJS.ErrnoException).code));
          }
        }
      }),
    );
    await untilAcknowledged(acknowledged, Math.round(60 + random() * (600 - 60)));
    stopping = true;
    expect(await service.end('SIGTERM')).toBe(0);
    refused = true;
    await load;
    expect(failures).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(50);
    const received = await receivedOrders();
    expect(acknowledged.filter((orderId) => received.get(orderId) !== 1)).toEqual([]);
    expect(received.size).toBe(acknowledged.length);
  });

  it('rejects a key that was revoked while the process was suspended', async () => {
    const service = await spawnService(dataDir);
    const other = await spawnService(dataDir, sharedDatabase(dataDir));
    const post = poster(service);
    expect((await post('ORD-1')).status).toBe(200);
    service.child.kill('SIGSTOP');
    const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    const log = new PostgresEventLog(postgres);
    const keyId = String((await log.read({ types: ['site.key_issued.v1'] }))[0]?.data['keyId']);
    await new RevokeKeyHandler(new SiteRepository(log)).execute(new RevokeKey('cli', 'localhost', keyId));
    await sleep(KEYS_FRESH_MS + 100);
    const answer = post('ORD-2');
    service.child.kill('SIGCONT');
    expect((await answer).status).toBe(401);
    await log.close();
    await postgres.close();
    for (const running of [service, other]) expect(await running.end('SIGTERM')).toBe(0);
  });
});
