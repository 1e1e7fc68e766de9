import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv } from 'ajv';
import { actorWithoutUser } from '../../src/events/unpublished-fields.js';
import { redactEvent } from '../../src/history/redact-event.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import type { StoredEvent } from '../../src/log/event.js';
import type { EventLog } from '../../src/log/event-log.js';
import { asyncApiDocument } from '../../src/operations/asyncapi.js';
import {
  countViolations,
  NO_VIOLATIONS,
  readTopics,
  startTestBrokers,
  type TestBrokers,
  waitUntil,
  withAdmin,
} from '../support/kafka.js';
import { KafkaEnabledService, TOPICS } from '../support/kafka-enabled-service.js';

const READER = fileURLToPath(new URL('../../docs/read-topics.mjs', import.meta.url));

(missingForBroker() ? describe.skip : describe)('the service with Kafka', () => {
  let brokers: TestBrokers;
  let kafka: KafkaEnabledService;
  let log: EventLog;

  beforeAll(async () => {
    brokers = await startTestBrokers();
    kafka = await KafkaEnabledService.open(brokers);
    log = kafka.log;
  });
  afterAll(async () => {
    await kafka?.close();
    await brokers?.remove();
  });

  const postMany = async (count: number) =>
    new Set(await Promise.all(Array.from({ length: count }, () => kafka.post())));
  const lag = async () => {
    const metrics = await (await fetch(`${kafka.service.url}/metrics`)).text();
    return Number(/^cc_kafka_relay_lag_events (\d+)$/m.exec(metrics)?.[1]);
  };
  const waitUntilDrained = () =>
    waitUntil(
      async () => (await lag()) === 0,
      () => `backlog not drained: ${kafka.service.output()}`,
    );
  const publicForm = (stored: StoredEvent) => {
    const { personal, ...event } = redactEvent(stored);
    return { ...event, actor: actorWithoutUser(event.actor) };
  };

  it('reports the state of Kafka in readiness, metrics and doctor', async () => {
    expect(await postMany(50)).toEqual(new Set([200]));
    await waitUntilDrained();
    expect(await kafka.ready()).toMatchObject({ status: 200, body: { ok: true, kafka: { state: 'publishing' } } });
    expect((await kafka.doctor()).check).toEqual({
      name: 'kafka',
      ok: true,
      detail: '1 broker, all events are published',
    });
  });

  it('makes kafkajs use the service’s record encoder', async () => {
    const client = new URL('../../dist/kafka/client.js', import.meta.url).href;
    // Loads the encoder in the same way as kafkajs does when it sends. The original returns an Encoder.
    const script = `
      import { createRequire } from 'node:module';
      await import('${client}');
      const encode = createRequire('${client}')('kafkajs/src/protocol/recordBatch/record/v0/index.js');
      console.log(encode({ value: 'x' }).constructor.name, encode({ value: 'x', timestampDelta: 1 }).constructor.name);`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
    expect(stdout).toBe('Object Encoder\n');
  });

  it('can be read by a script that relies on the documented contract only, without warnings', async () => {
    await waitUntilDrained();
    const events = await log.read();
    const reader = spawn(process.execPath, [READER, brokers.brokers], { stdio: ['ignore', 'pipe', 'pipe'] });
    let [output, errors] = ['', ''];
    reader.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    reader.stdout.on('data', (chunk) => {
      output += chunk;
    });
    const lines = () => output.split('\n').slice(0, -1);
    await waitUntil(
      () => lines().length >= events.length,
      () => `${lines().length} of ${events.length} events read. ${errors}`,
    );
    reader.kill('SIGTERM');
    await once(reader, 'close');
    expect(errors).toBe('');
    const read = lines().map((line) => JSON.parse(line) as StoredEvent);
    expect(read.sort((a, b) => a.position - b.position)).toEqual(events.map(publicForm));
    expect(output).not.toMatch(/personal|subject":"[0-9a-f]{64}/);
    // The events match the schemas in the published documents.
    const published: Record<string, object> = asyncApiDocument().components.schemas;
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const { type, data } of read) {
      const schema = published[type];
      expect([type, schema !== undefined && ajv.validate(schema, data), ajv.errors]).toEqual([type, true, null]);
    }
  });

  it('is compared with the log by "history verify" and replayed to a custom topic', async () => {
    await waitUntilDrained();
    const cli = async (...argv: string[]) => JSON.parse((await kafka.cli([...argv, '--json'])).stdout);
    const { checks } = (await cli('history', 'verify')) as { checks: { name: string; ok: boolean; detail: string }[] };
    expect(checks.filter(({ ok }) => !ok)).toEqual([]);
    expect(checks.find(({ name }) => name === 'topics')?.detail).toMatch(/^\d+ partitions hold what was published/);
    // Simulates a partition that ends before its published position.
    const movePublished = (by: number) =>
      kafka.postgres.pool.query(
        `UPDATE cc.kafka_relay SET published = jsonb_set(published::jsonb, '{conversion,0}',
           to_jsonb((published::jsonb #>> '{conversion,0}')::bigint + $1))::json`,
        [by],
      );
    await movePublished(1_000_000);
    await expect(cli('history', 'verify')).rejects.toMatchObject({
      stdout: expect.stringContaining('cc.conversions partition 0 ends at'),
    });
    await movePublished(-1_000_000);
    const { groups } = await withAdmin(brokers.kafka, (admin) => admin.listGroups());
    expect(groups.filter(({ groupId }) => groupId.includes('relay-ends'))).toEqual([]);
    const conversions = await log.read({ types: ['conversion.received.v1'] });
    const range = ['--from', '1', '--to', String((await log.head()) + 1)];
    const replayed = await cli('replay', 'events', ...range, '--type', 'conversion.received.v1', '--to-topic', 'mine');
    expect(replayed).toMatchObject({ topic: 'mine', events: conversions.length });
    const offsets = await withAdmin(brokers.kafka, (admin) => admin.fetchTopicOffsets('mine'));
    expect(offsets.reduce((sum, { high }) => sum + Number(high), 0)).toBe(conversions.length);
  });

  it('carries signed checkpoints, and every record is compared with the log', async () => {
    await waitUntilDrained();
    const verify = async () => {
      const options = ['--topics', 'full', '--against', 'cc.checkpoints'];
      const { stdout } = await kafka.cli(['history', 'verify', ...options, '--json']).catch((error) => error);
      const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string }[] };
      return Object.fromEntries(checks.map((check) => [check.name, check]));
    };
    await kafka.cli(['history', 'checkpoint']);
    await waitUntil(
      async () => (await kafka.postgres.pool.query('SELECT FROM cc.checkpoints WHERE NOT published')).rowCount === 0,
      () => 'checkpoints not published',
    );
    const untouched = await verify();
    expect(Object.values(untouched).filter(({ ok }) => !ok)).toEqual([]);
    expect(untouched['checkpoints']?.detail).toMatch(/ and [1-9]\d* from cc\.checkpoints, the newest at position/);
    expect(untouched['records']?.detail).toMatch(/^[1-9]\d* records compared with the log/);

    const [{ position }] = (await log.read({ types: ['conversion.received.v1'], limit: 1 })) as [StoredEvent];
    const owner = await kafka.postgres.connectAsOwner('test');
    const change = async (from: string, to: string) => {
      await owner.query(
        `UPDATE cc.events SET data = replace(data::text, '${from}', '${to}')::json WHERE position = ${position}`,
      );
    };
    try {
      await owner.query('SET session_replication_role = replica');
      await change('"value":1', '"value":2');
      const changed = await verify();
      expect(changed['records']?.detail).toMatch(
        new RegExp(
          `^the event at position ${position} differs from cc\\.conversions partition \\d+ offset \\d+ in data;`,
        ),
      );
      await change('"value":2', '"value":1');
      await owner.query(`CREATE TABLE public.dropped AS SELECT * FROM cc.events WHERE position = ${position}`);
      await owner.query(`DELETE FROM cc.events WHERE position = ${position}`);
      const dropped = await verify();
      expect(dropped['records']?.detail).toContain(
        `the log has no event at position ${position}, which is on cc.conversions`,
      );
      await owner.query('INSERT INTO cc.events SELECT * FROM public.dropped; DROP TABLE public.dropped');
    } finally {
      await owner.end();
    }
  });

  it('accepts conversions while the broker is frozen or killed, and publishes them afterwards', async () => {
    const [node] = brokers.nodes as [TestBrokers['nodes'][0]];
    node.signal('SIGSTOP');
    expect(await postMany(50)).toEqual(new Set([200]));
    expect(await lag()).toBeGreaterThanOrEqual(50);
    await node.kill9();
    await waitUntil(async () => (await kafka.ready()).body.kafka.state === 'unreachable', kafka.service.output);
    expect(await postMany(50)).toEqual(new Set([200]));
    expect(await kafka.ready()).toMatchObject({
      status: 200,
      body: { ok: true, kafka: { reason: expect.any(String) } },
    });
    expect((await kafka.doctor()).check).toMatchObject({ ok: false, fix: expect.stringContaining('KAFKA_BROKERS') });
    await node.restart();
    await waitUntilDrained();
    const expected = (await log.read()).map(({ position }) => position);
    expect(countViolations(await readTopics(brokers.kafka, TOPICS), expected)).toEqual(NO_VIOLATIONS);
  });

  it('prints no Node warning', async () => {
    const { output } = await kafka.doctor();
    expect(`${kafka.service.output()} ${output}`).not.toMatch(/\(node:\d+\)|Warning:/);
  });
});
