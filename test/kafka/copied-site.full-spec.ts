import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import type { Postgres } from '../../src/postgres/postgres.js';
import { createDatabase, openDatabase } from '../support/databases.js';
import { readTopics, type SharedBroker, sharedBroker } from '../support/kafka.js';
import { openOperator, post, startTestService, type TestService, type TestSite } from '../support/service.js';
import { arrive, contentOf, copySite, leave, makeHistory, run, verified } from '../support/site-copies.js';
import { eventually } from '../support/waiting.js';

const TOPICS = ['conversions', 'visitors', 'sites', 'inbound', 'outbound'];
const purchase = (orderId: string) => ({
  email: 'jane@example.com',
  event: 'purchase',
  value: 10,
  currency: 'EUR',
  orderId,
});

(missingForBroker() ? describe.skip : describe)('a site copied between two logs that share a Kafka cluster', () => {
  let brokers: SharedBroker;
  let urls: [string, string];
  let logs: [Postgres, Postgres];
  let services: [TestService, TestService];
  let site: TestSite;

  const environment = (cell: number) => ({
    ...{ KAFKA_BROKERS: brokers.brokers, KAFKA_TOPIC_PREFIX: `cell-${cell}.`, KAFKA_PARTITIONS: '3' },
    CELL: `cell-${cell}`,
  });

  beforeAll(async () => {
    brokers = await sharedBroker();
    urls = [await createDatabase(), await createDatabase()];
    logs = [await openDatabase(urls[0]), await openDatabase(urls[1])];
    services = [await startTestService(urls[0], environment(0)), await startTestService(urls[1], environment(1))];
    const operator = await openOperator(urls[0]);
    await operator.openSite();
    site = await operator.openSite();
    await operator.close();
    await makeHistory(services[0], site, urls[0]);
  });
  afterAll(async () => {
    for (const service of services ?? []) await service.stop();
    for (const log of logs ?? []) await log.close();
  });

  /** Moves the site to the other log, while a site that stays there gets conversions. */
  async function move(from: 0 | 1, to: 0 | 1, epoch: number): Promise<void> {
    await copySite(logs[from], logs[to], site.host, 5);
    await leave(logs[from], site.host, `cell-${to}`, epoch);
    await copySite(logs[from], logs[to], site.host, 5);
    await arrive(logs[to], site.host, `cell-${from}`, epoch);
    await services[to].refreshSites();
  }

  async function settled(cell: 0 | 1): Promise<void> {
    const head = async () =>
      (
        await logs[cell].pool.query<{ behind: boolean }>(
          `SELECT (SELECT max(position) FROM cc.kafka_relay) < (SELECT max(position) FROM cc.events)
                  OR EXISTS (SELECT FROM cc.projections WHERE position < (SELECT max(position) FROM cc.events)
                                AND name NOT IN ('dedup', 'identifiers', 'consent')) AS behind`,
        )
      ).rows[0]?.behind;
    await eventually(head, (behind) => behind === false);
  }

  async function failures(cell: 0 | 1) {
    const report = await verified(urls[cell], environment(cell), '--topics', 'full');
    return [...report.values()].filter(({ ok }) => !ok);
  }

  const publishedBy = async (cell: 0 | 1) => {
    const records = await readTopics(
      brokers.kafka,
      TOPICS.map((name) => `cell-${cell}.${name}`),
    );
    return records
      .filter(({ headers }) => headers['cc_site'] === site.host)
      .map(({ headers }) => headers['ce_id'] as string);
  };

  it('is published once by each log that has it, however often it moves, and every check passes', async () => {
    await move(0, 1, 1);
    expect((await post(services[1], site, purchase('SECOND'))).status).toBe(200);
    await settled(1);
    expect(await failures(1)).toEqual([]);
    await move(1, 0, 2);
    expect((await post(services[0], site, purchase('THIRD'))).status).toBe(200);
    await move(0, 1, 3);
    expect((await post(services[1], site, purchase('FOURTH'))).status).toBe(200);
    for (const cell of [0, 1] as const) {
      await settled(cell);
      expect(await failures(cell)).toEqual([]);
    }
    for (const cell of [0, 1] as const) {
      const stored = (await contentOf(logs[cell], site.host)).filter(
        ({ category }) => TOPICS.includes(`${category}s`) || TOPICS.includes(category),
      );
      expect((await publishedBy(cell)).toSorted()).toEqual(stored.map(({ id }) => id).sort());
    }
  });

  it('has a projection that consumers feed, with what was copied, also after a rebuild', async () => {
    const rows = async () =>
      (await logs[1].pool.query('SELECT * FROM cc.match_rate WHERE site = $1 ORDER BY day', [site.host])).rows;
    const before = await rows();
    expect(before.reduce((sum, { conversions }) => sum + Number(conversions), 0)).toBeGreaterThan(9);
    await run(urls[1], 'projections', 'rebuild', 'match_rate');
    expect(await rows()).toEqual(before);
  });

  it('is on topics with a new prefix as a whole', async () => {
    await services[1].stop();
    services[1] = await startTestService(urls[1], { ...environment(1), KAFKA_TOPIC_PREFIX: 'fresh.' });
    const rows = (await contentOf(logs[1], site.host)).filter(({ category }) => category === 'conversion');
    const found = await eventually(
      async () => {
        const records = await readTopics(brokers.kafka, ['fresh.conversions']).catch(() => []);
        return records.filter(({ headers }) => headers['cc_site'] === site.host);
      },
      (records) => records.length >= rows.length,
    );
    expect(found.map(({ headers }) => headers['ce_id']).sort()).toEqual(rows.map(({ id }) => id).sort());
  });
});
