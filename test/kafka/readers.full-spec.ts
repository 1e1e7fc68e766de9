import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type CloudEvent, Kafka as CloudEventsOnKafka, type KafkaMessage } from 'cloudevents';
import { actorWithoutUser } from '../../src/events/unpublished-fields.js';
import { redactEvent } from '../../src/history/redact-event.js';
import { brokerClassPath, missingForBroker } from '../../src/kafka-broker/distribution.js';
import type { StoredEvent } from '../../src/log/event.js';
import { readTopics, type SharedBroker, sharedBroker, waitUntil } from '../support/kafka.js';
import { KafkaEnabledService } from '../support/kafka-enabled-service.js';

const KCAT = '/usr/bin/kcat';
const TOPICS = ['cc.conversions', 'cc.sites', 'cc.log'];
const CATEGORIES = ['conversion', 'site', 'log'];
const reader = (file: string) => fileURLToPath(new URL(`./readers/${file}`, import.meta.url));
/** An interpreter with the packages, such as that of a virtual environment. */
const python = process.env['CC_PYTHON'] ?? 'python3';
const hasPython = spawnSync(python, ['-c', 'import kafka, cloudevents.core']).status === 0;
if (!hasPython)
  console.warn('SKIPPED: the CloudEvents SDK for Python (pip install cloudevents kafka-python; CC_PYTHON names it).');
/** Runs a source file, for which a JRE does not suffice. */
const hasJdk = spawnSync('javac', ['-version']).status === 0;
if (!hasJdk) console.warn("SKIPPED: Java's own client (install the package openjdk-17-jdk-headless).");

/** What a reader has to recover from a record, by the names of CloudEvents. */
interface Attributes {
  readonly [name: string]: unknown;
  readonly sequence: string;
}

(missingForBroker() ? describe.skip : describe)('topics read by others', () => {
  let brokers: SharedBroker;
  let service: KafkaEnabledService;
  let expected: Attributes[];

  beforeAll(async () => {
    brokers = await sharedBroker();
    service = await KafkaEnabledService.open(brokers, { CELL: 'eu-1' });
    for (let order = 0; order < 20; order += 1) expect(await service.post()).toBe(200);
    await service.cli(['sites', 'add', 'shop.example']);
    await waitUntil(async () => (await service.published()) >= (await service.log.head()));
    expected = (await service.log.read({ categories: CATEGORIES })).map(attributesOf);
    expect(new Set(expected.map(({ actor }) => String(actor).split(':')[0]))).toEqual(
      new Set(['key', 'cli', 'system']),
    );
    expect(expected.some(({ site }) => site === undefined)).toBe(true);
  });
  afterAll(async () => {
    await service?.close();
  });

  const run = async (command: string, args: readonly string[]) => {
    const { stdout } = await promisify(execFile)(command, args, { maxBuffer: 2 ** 26, timeout: 60_000 });
    return stdout.trim().split('\n');
  };
  const inOrder = (read: Attributes[]) => read.sort((a, b) => Number(a.sequence) - Number(b.sequence));

  it('keep position, site, version and actor in the CloudEvents SDK for JavaScript', async () => {
    const records = await readTopics(brokers.kafka, TOPICS);
    const read = records.map(({ key, value, headers }) => {
      const message: KafkaMessage = { key, value, headers, body: value };
      const event = CloudEventsOnKafka.toEvent(message) as CloudEvent;
      // Checks the attributes against the specification.
      expect(event.validate()).toBe(true);
      const { time, ...attributes } = JSON.parse(JSON.stringify(event));
      return { ...attributes, time: Date.parse(time) };
    });
    expect(inOrder(read)).toEqual(expected);
  });

  (hasPython ? it : it.skip)(
    'keep position, site, version and actor in the CloudEvents SDK for Python, with kafka-python',
    async () => {
      const lines = await run(python, [reader('reader.py'), brokers.brokers, TOPICS.join(), String(expected.length)]);
      expect(inOrder(lines.map((line) => JSON.parse(line)))).toEqual(expected);
    },
  );

  (hasJdk ? it : it.skip)("have position, site, version and actor as headers in Java's own client", async () => {
    const args = [brokers.brokers, TOPICS.join(), String(expected.length)];
    const lines = await run('java', ['-cp', await brokerClassPath(() => {}), reader('Reader.java'), ...args]);
    expect(inOrder(lines.map((line) => fromHeaders(line.split('\t'))))).toEqual(expected);
  });

  (existsSync(KCAT) ? it : it.skip)('have position, site, version and actor as headers in kcat', async () => {
    const read = await Promise.all(
      TOPICS.map((topic) =>
        run(KCAT, ['-b', brokers.brokers, '-t', topic, '-C', '-e', '-q', '-o', 'beginning', '-f', '%k\t%s\t%h\n']),
      ),
    );
    const fields = read.flat().map((line) => line.split('\t') as [string, string, string]);
    const events = fields.map(([key, value, headers]) => fromHeaders([key, value, ...headers.split(',')]));
    expect(inOrder(events)).toEqual(expected);
  });
});

/** As a CloudEvents SDK represents the event. */
function attributesOf(stored: StoredEvent): Attributes {
  const { position, id, type, stream, version, site, time, actor, data } = redactEvent(stored);
  return {
    specversion: '1.0',
    id,
    type,
    source: '/clean-conversions/eu-1',
    subject: stream,
    time: Date.parse(time),
    datacontenttype: 'application/json',
    dataschema: `urn:clean-conversions:event:${type}`,
    sequence: String(position),
    version: String(version),
    actor: actorWithoutUser(actor),
    ...(site !== '' && { site }),
    partitionkey: stream,
    data,
  };
}

function fromHeaders([key, value, ...headers]: readonly string[]): Attributes {
  const pairs = headers.map((header) => header.split(/=(.*)/s) as [string, string]);
  const extensions = pairs.filter(([name]) => name.startsWith('ce_')).map(([name, text]) => [name.slice(3), text]);
  const attributes = Object.fromEntries(extensions) as Attributes;
  return {
    ...attributes,
    time: Date.parse(String(attributes['time'])),
    datacontenttype: Object.fromEntries(pairs)['content-type'],
    partitionkey: key,
    data: JSON.parse(String(value)),
  };
}
