import { hash, randomUUID } from 'node:crypto';
import { jest } from '@jest/globals';
import fc from 'fast-check';
import type { Client, ClientBase } from 'pg';
import { readClaims, storeClaims } from '../../src/log/site-copy/site-claims.js';
import { readSiteCopy, storeSiteCopy } from '../../src/log/site-copy/site-copy.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import {
  type Operator,
  openOperator,
  post,
  send,
  startTestService,
  type TestService,
  type TestSite,
} from '../support/service.js';
import { arrive, begin, contentOf, INLINE, leave, run, tablesOf, verified } from '../support/site-copies.js';
import { eventually } from '../support/waiting.js';

jest.setTimeout(600_000);

const BROWSER = 'Mozilla/5.0 (Windows NT 10.0; rv:115.0) Gecko/20100101 Firefox/115.0';
const PEOPLE = ['jane@example.com', 'john@example.com', 'kim@example.com'];
const ERASED = 'visitor.erased.v1';

/** What happens to a site, or to another one of the same log. */
type Step =
  | { readonly what: 'order'; readonly order: number; readonly person: number; readonly elsewhere: boolean }
  | { readonly what: 'tag'; readonly call: 'collect' | 'identify' | 'consent'; readonly person: number }
  | { readonly what: 'refused' }
  | { readonly what: 'settings' }
  | { readonly what: 'erase'; readonly person: number };

/** Ends the transaction of a page around a statement. */
interface Crash {
  readonly statement: number;
  readonly how: 'killed before' | 'killed after' | 'rolled back before';
}

/** Until the site leaves, and what happens while it is copied. */
interface Stay {
  readonly steps: readonly Step[];
  readonly meanwhile: readonly Step[];
  readonly pageEvents: number;
  readonly crashes: readonly Crash[];
  readonly sentTwice: boolean;
}

const person = fc.nat(PEOPLE.length - 1);
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({ what: fc.constant('order' as const), order: fc.nat(9), person, elsewhere: fc.boolean() }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('tag' as const),
      call: fc.constantFrom('collect', 'identify', 'consent'),
      person,
    }),
  },
  { weight: 1, arbitrary: fc.constantFrom<Step>({ what: 'refused' }, { what: 'settings' }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('erase' as const), person }) },
);
const stay: fc.Arbitrary<Stay> = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 12 }),
  meanwhile: fc.array(step, { maxLength: 4 }),
  pageEvents: fc.integer({ min: 1, max: 12 }),
  crashes: fc.array(
    fc.record({
      statement: fc.integer({ min: 1, max: 14 }),
      how: fc.constantFrom('killed before', 'killed after', 'rolled back before'),
    }),
    { maxLength: 4 },
  ),
  sentTwice: fc.boolean(),
});

describe('a site that moves between two logs', () => {
  let urls: [string, string];
  let logs: [Postgres, Postgres];
  let operators: [Operator, Operator];
  let services: [TestService, TestService];
  let others: [TestSite, TestSite];
  let orders = 0;
  let crashed = 0;

  beforeAll(async () => {
    urls = [await createDatabase(), await createDatabase()];
    logs = [await openDatabase(urls[0]), await openDatabase(urls[1])];
    operators = [await openOperator(urls[0]), await openOperator(urls[1])];
    services = [await startTestService(urls[0]), await startTestService(urls[1])];
    // Hosts are numbered by operator: those of the second log must be others.
    others = [await operators[0].openSite(), { ...(await operators[1].openSite()) }];
  });
  afterAll(async () => {
    for (const service of services ?? []) await service.stop();
    for (const operator of operators ?? []) await operator.close();
    for (const log of logs ?? []) await log.close();
  });

  async function take(cell: 0 | 1, site: TestSite, each: Step): Promise<void> {
    const service = services[cell];
    if (each.what === 'order') {
      orders += 1;
      const email = PEOPLE[each.person] as string;
      const to = each.elsewhere ? others[cell] : site;
      const orderId = each.elsewhere ? `B-${orders}` : `A-${each.order}`;
      const reply = await post(service, to, { email, event: 'purchase', value: 10, currency: 'EUR', orderId });
      expect([reply.status, reply.body]).toEqual([200, expect.any(String)]);
    } else if (each.what === 'tag') {
      const message = { v: 1, visitor: randomUUID(), visit: randomUUID(), consent: { ad_storage: 'granted' } };
      const clicks = { gclid: { id: randomUUID(), t: Date.now() } };
      const body = JSON.stringify({ ...message, clicks, hash: hash('sha256', PEOPLE[each.person] as string) });
      const headers = {
        Host: site.host,
        Origin: `https://${site.host}`,
        'Content-Type': 'text/plain',
        'User-Agent': BROWSER,
      };
      const reply = await send(service, { method: 'POST', path: `/__cc/${each.call}`, body, headers });
      expect(reply.status).toBeLessThan(300);
    } else if (each.what === 'refused') await post(service, site, 'not json');
    else if (each.what === 'settings') await operators[cell].set(site.host, 'country', orders % 2 === 0 ? 'DE' : 'FR');
    else await erase(cell, site, PEOPLE[each.person] as string);
  }

  const erase = (cell: 0 | 1, site: TestSite, email: string) =>
    run(urls[cell], 'visitors', 'erase', '--site', site.host, '--email', email);

  /** Stores a page in a transaction that may end early. Returns whether it did. */
  async function inTransaction(cell: 0 | 1, crash: Crash | undefined, work: (client: ClientBase) => Promise<unknown>) {
    const client = await logs[cell].connect('copy');
    client.on('error', () => {});
    const end = crash && (await crashing(logs[cell], client, crash));
    try {
      await client.query('BEGIN');
      await work(client);
      await client.query('COMMIT');
      return false;
    } catch (error) {
      if (!end?.isCrashed) throw error;
      crashed += 1;
      return true;
    } finally {
      await client.end().catch(() => {});
    }
  }

  /** Copies what the other log lacks, as a mover that starts again after each crash. */
  async function copy(from: 0 | 1, to: 0 | 1, site: TestSite, { pageEvents, crashes, sentTwice }: Stay): Promise<void> {
    const left = [...crashes];
    const found = new Set<string>();
    await begin(logs[from], logs[to], site.host);
    const reader = await logs[from].connect('copy');
    const store = async (rows: Buffer, crash: Crash | undefined) =>
      inTransaction(to, crash, async (client) => {
        const { erased } = await storeSiteCopy(client, site.host, rows, INLINE);
        for (const subject of erased) found.add(subject);
      });
    // What was copied about a person is erased before later events of the same person follow.
    const eraseFound = async () => {
      for (const email of PEOPLE) if (found.delete(hash('sha256', email))) await erase(to, site, email);
    };
    const copyErased = async () => {
      const again = await readSiteCopy(reader, site.host, 0, 1_000, { erased: true });
      await store(again.rows, undefined);
      await eraseFound();
    };
    for (let after = 0, isLast = false; !isLast; ) {
      const page = await readSiteCopy(reader, site.host, after, pageEvents);
      const results = await Promise.all([
        store(page.rows, left.pop()),
        ...(sentTwice ? [store(page.rows, undefined)] : []),
      ]);
      await eraseFound();
      if (results[0]) continue;
      if (page.rows.includes(ERASED)) await copyErased();
      ({ last: after, isLast } = page);
    }
    for (let after: string | undefined; ; ) {
      const { rows, last } = await readClaims(reader, site.host, { ...(after && { after }), limit: pageEvents });
      if (last === undefined) break;
      if (await inTransaction(to, left.pop(), (client) => storeClaims(client, site.host, rows))) continue;
      after = last;
    }
    await reader.end();
  }

  it('has everything in the log that it came to, whatever ends transactions, and all checks pass', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(stay, { minLength: 1, maxLength: 3 }), async (stays) => {
        const site = await operators[0].openSite();
        await services[0].refreshSites();
        for (const [index, each] of stays.entries()) {
          const [from, to] = index % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const);
          for (const one of each.steps) await take(from, site, one);
          const meanwhile = async () => {
            for (const one of each.meanwhile) await take(from, site, one);
          };
          await Promise.all([copy(from, to, site, each), meanwhile()]);
          await leave(logs[from], site.host, `cell-${to}`, index + 1);
          await copy(from, to, site, each);
          expect(await comparable(logs[to], site)).toEqual(await comparable(logs[from], site));
          expect(await tablesOf(logs[to], site.host)).toEqual(await tablesOf(logs[from], site.host));
          await arrive(logs[to], site.host, `cell-${from}`, index + 1);
          await services[to].refreshSites();
        }
      }),
      { numRuns: 8, endOnFailure: true },
    );
    expect(crashed).toBeGreaterThan(0);
    for (const cell of [0, 1] as const) {
      await eventually(
        async () => JSON.parse(await run(urls[cell], 'projections', 'status', '--json')) as { lag: number }[],
        (list) => list.every(({ lag }) => lag === 0),
      );
      expect([...(await verified(urls[cell])).values()].filter(({ ok }) => !ok)).toEqual([]);
    }
  });
});

/** Each log states its own erasures, also of a site that it does not accept conversions for. */
async function comparable(log: Postgres, site: TestSite) {
  return (await contentOf(log, site.host)).filter(({ type }) => type !== ERASED);
}

/** Ends the transaction of a client at a statement, if it comes to it. */
async function crashing(log: Postgres, client: Client, { statement, how }: Crash): Promise<{ isCrashed: boolean }> {
  const state = { isCrashed: false };
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const kill = async () => {
    const owner = await log.connectAsOwner('test');
    await owner.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]).finally(() => owner.end());
  };
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  let statements = 0;
  const counted = (...args: unknown[]) => {
    // A COPY is no promise.
    if (typeof args[0] !== 'string' && !('text' in (args[0] as object) && !('submit' in (args[0] as object))))
      return query(...args);
    statements += 1;
    if (statements !== statement) return query(...args);
    state.isCrashed = true;
    return (async () => {
      if (how === 'rolled back before') {
        await query('ROLLBACK');
        throw new Error('rolled back');
      }
      if (how === 'killed before') await kill();
      const result = await query(...args);
      if (how === 'killed after') await kill();
      return result;
    })();
  };
  Object.assign(client, { query: counted });
  return state;
}
