import { hash, randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { allProjections } from '../../src/app/projections.js';
import { pruneClaims } from '../../src/conversions/dedup-claim-pruner.js';
import { ReceiveConversion } from '../../src/conversions/receive-conversion.command.js';
import { ConversionReceiver, ReceiveConversionHandler } from '../../src/conversions/receive-conversion.handler.js';
import { INBOUND, type InboundEvent } from '../../src/events/inbound.events.js';
import { Sealer } from '../../src/kernel/sealing.js';
import { uuidv7 } from '../../src/kernel/uuid.js';
import { IDLE_WITH_LOCK_MS } from '../../src/log/append/append-lock.js';
import type { AppendRequest } from '../../src/log/event.js';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import type { Page, Projection } from '../../src/log/projections/projection.js';
import { ProjectionRunner } from '../../src/log/projections/projection-runner.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { IssueKey } from '../../src/sites/keys/key.commands.js';
import { AddSite, ChangeSiteSettings, EnableInbound } from '../../src/sites/site.commands.js';
import { siteCommandDispatcher } from '../../src/sites/site-command-handlers.js';
import { type LoadedSite, SiteDirectory } from '../../src/sites/site-directory.js';
import { SiteRepository } from '../../src/sites/site-repository.js';
import { SiteSecrets } from '../../src/sites/site-secrets.js';
import { loadBotList } from '../../src/visitors/bots/bot-list.js';
import { BotScorer } from '../../src/visitors/bots/bot-scorer.js';
import { ChangeConsent } from '../../src/visitors/change-consent.command.js';
import { ChangeConsentHandler } from '../../src/visitors/change-consent.handler.js';
import { Matcher } from '../../src/visitors/matcher.js';
import { RecordVisit } from '../../src/visitors/record-visit.command.js';
import { RecordVisitHandler } from '../../src/visitors/record-visit.handler.js';
import { readTagMessage, type TagCall, type TagMessage } from '../../src/visitors/tag/tag-message.js';
import { callingVisitor } from '../../src/visitors/tag/visitor-cookie.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { loosely } from '../support/loose-event.js';
import { ConversionEvents } from '../support/statistics.js';
import { eventually } from '../support/waiting.js';

const DAY_MS = 24 * 60 * 60 * 1_000;

describe('projections', () => {
  let postgres: Postgres;
  let log: EventLog;
  const closing: (() => Promise<void>)[] = [];

  beforeEach(async () => {
    postgres = await openDatabase(await createDatabase());
    log = new PostgresEventLog(postgres);
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) await close();
    await log.close();
    await postgres.close();
  });

  const thing = (type = 'thing.happened.v1', data: object = {}): AppendRequest => ({
    category: 'thing',
    stream: uuidv7(),
    expected: 'new',
    site: 'shop.example',
    actor: 'system',
    events: [{ type, data }],
  });

  /** Counts events by type and throws on a poison event. */
  const counting = (): Projection => ({
    name: 'counted',
    tables: ['counted'],
    async fold(page: Page) {
      for (const event of loosely(await page.events({ categories: ['thing'] }))) {
        if (event.data['poison']) throw new Error('cannot count this one');
        await page.tx.query(
          'INSERT INTO counted VALUES ($1, 1) ON CONFLICT (type) DO UPDATE SET count = counted.count + 1',
          [event.type],
        );
      }
    },
  });
  const makeCountedTable = async () => {
    const owner = await postgres.connectAsOwner('test');
    await owner.query(
      'CREATE TABLE cc.counted (type text PRIMARY KEY, count integer NOT NULL); GRANT ALL ON cc.counted TO cc_service',
    );
    await owner.end();
  };
  const counts = async () => (await postgres.pool.query('SELECT * FROM cc.counted ORDER BY type')).rows;

  describe('the runner', () => {
    it('folds every event once with any number of instances', async () => {
      await makeCountedTable();
      const runners = [1, 2, 3].map(() => new ProjectionRunner(postgres, [counting()]));
      for (const runner of runners) await runner.start();
      for (let round = 0; round < 20; round += 1)
        await Promise.all(Array.from({ length: 30 }, () => log.append(thing())));
      await Promise.all(runners.map((runner) => runner.catchUp('counted')));
      for (const runner of runners) await runner.stop();
      expect(await counts()).toEqual([{ type: 'thing.happened.v1', count: 600 }]);
    });

    it('parks a projection at an event that it cannot fold, with the reason, while others continue', async () => {
      await makeCountedTable();
      const seen: number[] = [];
      const other: Projection = {
        name: 'other',
        tables: [],
        fold: async (page) => {
          seen.push(...(await page.events()).map(({ position }) => position));
        },
      };
      const messages: string[] = [];
      const runner = new ProjectionRunner(postgres, [counting(), other], (line) => messages.push(line));
      for (let turn = 0; turn < 5; turn += 1) await log.append(thing());
      await log.append(thing('thing.happened.v1', { poison: true }));
      for (let turn = 0; turn < 5; turn += 1) await log.append(thing());
      const poison = loosely(await log.read()).find(({ data }) => data['poison']);

      await runner.start();
      await runner.catchUp('other');
      await expect(runner.catchUp('counted')).rejects.toThrow(/parked/);
      await runner.stop();
      const [counted, rest] = await runner.status();
      expect(counted).toMatchObject({
        name: 'counted',
        state: 'parked',
        position: (poison?.position as number) - 1,
        lag: 6,
      });
      expect(counted?.reason).toContain(poison?.id);
      expect(counted?.reason).toContain('cannot count this one');
      expect(messages).toEqual([expect.stringContaining('counted is parked')]);
      expect(await counts()).toEqual([{ type: 'thing.happened.v1', count: 5 }]);
      expect(rest).toMatchObject({ name: 'other', state: 'running', lag: 0 });
      expect(seen).toHaveLength(11);
    });

    it('resumes a parked projection at its checkpoint when a fixed version starts', async () => {
      await makeCountedTable();
      await log.append(thing('thing.happened.v1', { poison: true }));
      const broken = new ProjectionRunner(postgres, [counting()]);
      await expect(broken.catchUp('counted')).rejects.toThrow(/parked/);
      const fixed = new ProjectionRunner(postgres, [{ ...counting(), fold: async () => {} }]);
      await fixed.start();
      await fixed.catchUp('counted');
      await fixed.stop();
      expect(await fixed.status()).toMatchObject([{ state: 'running', lag: 0 }]);
    });
  });

  describe('a rebuild', () => {
    const inbound = async () => {
      const secrets = new SiteSecrets(postgres.pool, new Sealer(randomBytes(32)));
      const commands = siteCommandDispatcher(new SiteRepository(log), secrets);
      await commands.execute(new AddSite('cli', 'shop.example', ['www.shop.example']));
      await commands.execute(new EnableInbound('cli', 'shop.example'));
      const { key } = await commands.execute(new IssueKey('cli', 'shop.example', 'CRM', false));
      const directory = new SiteDirectory(log, secrets, {
        authFailureLimit: 20,
        authFailureWindowMs: 60_000,
        instance: randomUUID(),
        clock: postgres.clock,
      });
      await directory.start();
      const open = () => directory.find('shop.example');
      const verdict = directory.checkKey(open() as never, key);
      if (!verdict.ok) throw new Error('the key should be good');
      // No platform is connected: nothing is delivered.
      const matcher = new Matcher(postgres, (error) => {
        throw error;
      });
      closing.push(() => matcher.close());
      const deliveries = { deliver: async () => ({}) } as never;
      const receiver = new ConversionReceiver(log, matcher, postgres.clock);
      const bus = new ReceiveConversionHandler(receiver, deliveries);
      const rules = { dedupWindowMs: DAY_MS, identifierTtlMs: 90 * DAY_MS };
      const post = (orderId: string | undefined, email = `${randomUUID()}@example.com`) => {
        const warnings = [{ kind: 'unknown', field: 'amount', text: 'amount is an unknown field' }] as const;
        const fields = { email, event: 'purchase', currency: 'EUR', value: 10, warnings, ...(orderId && { orderId }) };
        return bus.execute(new ReceiveConversion(open() as never, verdict.key, fields, rules));
      };
      return {
        secrets,
        commands,
        directory,
        post,
        open,
        runner: new ProjectionRunner(postgres, allProjections(secrets)),
      };
    };

    const rowsOf = async (table: string): Promise<string[]> =>
      (await postgres.pool.query<{ row: string }>(`SELECT t::text AS row FROM cc.${table} t ORDER BY 1`)).rows.map(
        ({ row }) => row,
      );

    /** Deliveries of every kind: deferred, delivered after a retry, delivered at once, waiting for a confirmation. */
    const recordOutcomes = async (conversionId: string, turn: number): Promise<void> => {
      const outcome = (status: string, attempt: number, nextTry?: Date) => ({
        type: `conversion.${status}.v1`,
        data: { conversionId, platform: 'meta', attempt, status, nextTry: nextTry?.toISOString(), requestId: 'R' },
      });
      const later = new Date(Date.now() + 30_000 + turn);
      const outcomes = [
        [outcome('delivered', 1)],
        [outcome('deferred', 1, later)],
        [outcome('deferred', 1, later), outcome('delivered', 2)],
        [outcome('accepted', 1, later)],
        [{ ...outcome('skipped', 1), data: { ...outcome('skipped', 1).data, reason: 'no_click_identifier' } }],
      ][turn % 5] as [ReturnType<typeof outcome>];
      await log.append({
        category: 'conversion',
        stream: conversionId,
        expected: 'any',
        site: 'shop.example',
        actor: 'system',
        events: outcomes,
      });
    };

    const scorer = new BotScorer(loadBotList());

    /** Visits, identified visitors, consent changes and bots. */
    const visit = async (open: LoadedSite, turn: number): Promise<void> => {
      const email = hash('sha256', `walk-in-${turn % 4}-${turn % 5}@example.com`);
      const clicks = { gclid: { id: `Cj0-${turn}`, t: Date.now() - (turn % 3) }, fbclid: { id: `fb-${turn}`, t: 1 } };
      const consent = turn % 3 === 0 ? { ad_storage: turn % 2 ? 'denied' : 'granted' } : undefined;
      const first = { t: Date.now() - turn, page: 'https://shop.example/', utm: { source: `s${turn}` } };
      const ids = { visitor: randomUUID(), visit: randomUUID(), hash: email };
      const sent = readTagMessage({ v: 1, ...ids, clicks, consent, first, utm: { source: 'x' } }, Date.now());
      const message = { ...(sent as TagMessage), ...(turn % 2 === 1 && { europe: true as const }) };
      const call = (['collect', 'identify', 'consent'] as const)[turn % 3] as TagCall;
      const request = { ip: '203.0.113.7', userAgent: turn % 4 === 0 ? 'curl/8.0' : 'Mozilla/5.0' };
      // Every third visitor has a cookie.
      const cookie = { id: randomUUID(), sinceMs: Date.now() - 1_000, landings: {} };
      const visitor = callingVisitor(turn % 3 === 1 ? cookie : undefined, Date.now());
      if (call === 'consent')
        await new ChangeConsentHandler(log).execute(new ChangeConsent('tag', open.site, message, visitor));
      else {
        const command = new RecordVisit('tag', open.site, call, message, request, visitor);
        await new RecordVisitHandler(log, scorer).execute(command);
      }
    };

    /** What a source delivers that is no conversion, and what is refused of it. */
    async function deliver(turn: number): Promise<void> {
      const keyId = '01980000-0000-7000-8000-00000000000a';
      const [source, digest] = ['shopify', String(turn)];
      const events: InboundEvent[] = [
        {
          type: 'inbound.delivery_ignored.v1',
          data: { source, topic: 'orders/create', digest, keyId, reason: 'condition' },
          personal: {},
        },
        {
          type: 'inbound.deliveries_refused.v1',
          data: { keyId, source, since: new Date().toISOString(), count: 1, reasons: { signature: 1 }, topics: [] },
        },
      ];
      for (const event of events)
        await log.append({
          ...{ category: INBOUND, stream: randomUUID(), expected: 'new', site: 'shop.example', actor: `key:${keyId}` },
          events: [event],
        });
    }

    it('of every projection under load equals the live rows and a fresh fold of the log', async () => {
      const { secrets, commands, directory, post, open, runner } = await inbound();
      await runner.start();
      let loading = true;
      let posted = 0;
      const load = (async () => {
        for (let turn = 0; loading; turn += 1) {
          // New orders, duplicates, posts without an order, site changes and wrong keys at the same time.
          const orders = Array.from({ length: 12 }, (_, index) =>
            index % 4 === 3 ? undefined : `ORD-${turn * 4 + (index % 9)}`,
          );
          const received = await Promise.all(
            orders.map((orderId, index) =>
              post(orderId, orderId ? undefined : `walk-in-${index}-${turn % 5}@example.com`),
            ),
          );
          posted += orders.length;
          await Promise.all(received.map(({ conversionId }, index) => recordOutcomes(conversionId, turn + index)));
          for (let each = 0; each < 5; each += 1) await visit(open() as LoadedSite, turn * 5 + each);
          await deliver(turn);
          directory.checkKey(open() as never, 'cc_wrong');
          if (turn % 10 === 0) await new ConversionEvents(log, 'shop.example').refused(2);
          if (turn % 10 === 0) await commands.execute(new IssueKey('cli', 'shop.example', `key ${turn}`, false));
          if (turn === 15)
            await commands.execute(
              new ChangeSiteSettings('cli', 'shop.example', {
                set: [{ flag: 'block', value: '@blocked.example' }],
                unset: [],
              }),
            );
        }
      })();
      for (const _ of ['while it grows', 'again']) {
        const enough = posted + 120;
        await eventually(
          () => posted,
          (count) => count >= enough,
        );
        for (const name of runner.names()) await runner.rebuild(name);
      }
      loading = false;
      await load;
      expect(posted).toBeGreaterThan(200);

      for (const name of runner.names()) await runner.catchUp(name);
      await runner.stop();
      for (const projection of allProjections(secrets)) {
        for (const table of projection.tables) {
          const live = await rowsOf(table);
          // Has rows only for more conversions than this load has; the spec of attributions lowers that limit.
          if (table !== 'attribution_limits') expect(live.length).toBeGreaterThan(0);
          await runner.rebuild(projection.name);
          expect(await rowsOf(table)).toEqual(live);
        }
      }
      // The rebuilt dedup claims still detect a duplicate.
      expect((await post('ORD-1')).receipt).toEqual({ ok: true, deduped: true });
    });

    it('of a log longer than one swap has one row per key, the newest, and the same indexes', async () => {
      const { commands, directory, post, runner } = await inbound();
      const request = { set: [{ flag: 'dedup-window', value: '0' }], unset: [] };
      await commands.execute(new ChangeSiteSettings('cli', 'shop.example', request));
      await directory.refresh();
      // Every order is received several times: in the first pages, and in the rest, which the swap folds.
      for (let turn = 1; turn <= 7; turn += 1) {
        const orders = Array.from({ length: 900 }, (_, at) => `ORD-${(at * turn) % 1_500}`);
        // In groups that a busy machine stores before the deadline of an append.
        while (orders.length > 0) await Promise.all(orders.splice(0, 150).map((order) => post(order)));
      }
      expect(await log.head()).toBeGreaterThan(6_000);
      const live = await rowsOf('dedup');
      const indexes = async () =>
        (
          await postgres.pool.query(
            `SELECT regexp_replace(indexdef, ' INDEX \\S+ ', ' ') AS made FROM pg_indexes WHERE tablename = 'dedup' ORDER BY 1`,
          )
        ).rows;
      const before = await indexes();
      await runner.rebuild('dedup');
      expect(await rowsOf('dedup')).toEqual(live);
      expect(await indexes()).toEqual(before);
      expect(await runner.compare('dedup', new Date(0))).toMatchObject({ rows: live.length, missing: 0, surplus: 0 });
      await runner.rebuild('dedup');
      expect(await rowsOf('dedup')).toEqual(live);
    });

    it('folds an event that is appended during the swap once', async () => {
      await makeCountedTable();
      for (let turn = 0; turn < 5; turn += 1) await log.append(thing());
      // The rebuild has just read the head of the log when another event is appended.
      const connectAsOwner = async (name: string) => {
        const client = await postgres.connectAsOwner(name);
        const query = client.query.bind(client) as (...question: unknown[]) => Promise<unknown>;
        const racing = async (...question: unknown[]) => {
          const answer = await query(...question);
          if ((question[0] as { name?: string }).name === 'read-head') await log.append(thing());
          return answer;
        };
        return Object.assign(client, { query: racing });
      };
      const racing = Object.create(postgres, { connectAsOwner: { value: connectAsOwner } });
      await new ProjectionRunner(racing, [counting()]).rebuild('counted');
      const runner = new ProjectionRunner(postgres, [counting()]);
      await runner.catchUp('counted');
      expect(await counts()).toEqual([{ type: 'thing.happened.v1', count: await log.head() }]);
    });

    it('ends soon if its process freezes while appends wait for it', async () => {
      await makeCountedTable();
      const limits = new Set<string>();
      const inline: Projection = {
        ...counting(),
        inline: true,
        fold: async ({ tx }) => {
          const { rows } = await tx.query(`SELECT current_setting('idle_in_transaction_session_timeout') AS idle`);
          limits.add(rows[0].idle);
        },
      };
      await log.append(thing());
      await new ProjectionRunner(postgres, [inline]).rebuild('counted');
      expect([...limits]).toEqual([`${IDLE_WITH_LOCK_MS / 1_000}s`]);
    });

    it('leaves the service able to write the new table', async () => {
      const { post, runner } = await inbound();
      await post('ORD-1');
      await runner.rebuild('dedup');
      await runner.rebuild('sites');
      expect((await post('ORD-1')).receipt).toEqual({ ok: true, deduped: true });
      expect((await post('ORD-2')).receipt).toEqual({ ok: true, event: 'purchase', results: {} });
    });

    it('is refused while the same one is being rebuilt', async () => {
      const { runner } = await inbound();
      const outcomes = await Promise.allSettled([
        runner.rebuild('dedup'),
        runner.rebuild('dedup'),
        runner.rebuild('dedup'),
      ]);
      const refused = outcomes.filter(({ status }) => status === 'rejected') as PromiseRejectedResult[];
      for (const { reason } of refused) expect(String(reason)).toContain('already being rebuilt');
      expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    });

    it('succeeds although an interrupted rebuild left its tables behind', async () => {
      const { post, runner } = await inbound();
      await post('ORD-1');
      const owner = await postgres.connectAsOwner('test');
      await owner.query(
        'CREATE TABLE cc_shadow.dedup (LIKE cc.dedup INCLUDING ALL); INSERT INTO cc_shadow.dedup SELECT * FROM cc.dedup',
      );
      await owner.end();
      const before = await rowsOf('dedup');
      await runner.rebuild('dedup');
      expect(await rowsOf('dedup')).toEqual(before);
    });
  });

  it('prunes dedup claims that are older than any window', async () => {
    const key = () => randomUUID();
    for (const windowMs of [1, 2, 3]) await log.append({ ...thing(), claim: { key: key(), windowMs, weak: false } });
    await sleep(20);
    const middle = new Date();
    await sleep(20);
    await log.append({ ...thing(), claim: { key: key(), windowMs: DAY_MS, weak: false } });
    expect(await pruneClaims(postgres, middle)).toBe(3);
    expect((await postgres.pool.query('SELECT FROM cc.dedup')).rowCount).toBe(1);
  });
});
