import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresEventLog } from '../src/log/postgres-event-log.js';
import { Postgres } from '../src/postgres/postgres.js';
import { RevokeKey } from '../src/sites/key.commands.js';
import { RevokeKeyHandler } from '../src/sites/key.handlers.js';
import { SiteRepository } from '../src/sites/site-repository.js';
import { type ServiceProcess, spawnService } from './support/service-process.js';

interface Reply {
  readonly status: number;
  readonly body: string;
}

/** Each call opens no more than it must: connections are kept alive, as a busy sender does. */
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

describe('a service that is killed', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'cc-crash-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));

  /** How often each order was received, as the log has it. */
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

  it.each(['the service', 'PostgreSQL', 'both'])(
    'keeps what it acknowledged over kill -9 of %s, and takes or knows what it did not',
    async (victim) => {
      const acknowledged: string[] = [];
      const unanswered: string[] = [];
      let count = 0;
      let service = await spawnService(dataDir);
      for (let round = 0; round < 3; round += 1) {
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
        await sleep(400 + round * 130);
        if (victim !== 'the service') {
          const postmaster = Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]);
          process.kill(postmaster, 'SIGKILL');
        }
        if (victim === 'PostgreSQL') await sleep(200);
        await service.end('SIGKILL');
        loading = false;
        await load;
        service = await spawnService(dataDir);
      }
      // A retry of what was never acknowledged is accepted now, or was stored after all and is a duplicate.
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
    120_000,
  );

  it('starts its own PostgreSQL again when that was killed, and the request of that moment is stored', async () => {
    const service = await spawnService(dataDir);
    const post = poster(service);
    expect((await post('ORD-1')).status).toBe(200);
    process.kill(Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
    let reply = await post('ORD-2');
    // On a slow machine the database may take longer than a request's patience; then it says so and takes the next try.
    while (reply.status === 503) reply = await post('ORD-2');
    expect(reply.status).toBe(200);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect([...(await receivedOrders()).entries()]).toEqual([
      ['ORD-1', 1],
      ['ORD-2', 1],
    ]);
  }, 60_000);

  it('stops on SIGTERM under keep-alive load without failing a request, with exit code 0', async () => {
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
            // A connection that was refused never carried a request: the sender knows that nothing was taken.
            if (stopping && (error as NodeJS.ErrnoException).code === 'ECONNREFUSED') refused = true;
            else failures.push(String((error as NodeJS.ErrnoException).code));
          }
        }
      }),
    );
    await sleep(500);
    stopping = true;
    expect(await service.end('SIGTERM')).toBe(0);
    refused = true;
    await load;
    expect(failures).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(50);
    const received = await receivedOrders();
    expect(acknowledged.filter((orderId) => received.get(orderId) !== 1)).toEqual([]);
    expect(received.size).toBe(acknowledged.length);
  }, 60_000);

  it('judges no key before it has looked, when it wakes up after having been frozen', async () => {
    const service = await spawnService(dataDir);
    const other = await spawnService(dataDir);
    const post = poster(service);
    expect((await post('ORD-1')).status).toBe(200);
    service.child.kill('SIGSTOP');
    const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    const log = new PostgresEventLog(postgres);
    const keyId = String((await log.read({ types: ['site.key_issued.v1'] }))[0]?.data['keyId']);
    await new RevokeKeyHandler(new SiteRepository(log)).execute(new RevokeKey('cli', 'localhost', keyId));
    await sleep(1_100);
    const answer = post('ORD-2');
    service.child.kill('SIGCONT');
    expect((await answer).status).toBe(401);
    await log.close();
    await postgres.close();
    for (const running of [service, other]) expect(await running.end('SIGTERM')).toBe(0);
  }, 60_000);
});
