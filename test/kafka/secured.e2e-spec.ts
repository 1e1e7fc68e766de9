import { setTimeout as sleep } from 'node:timers/promises';
import { probeKafka } from '../../src/kafka/probe.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { judge, NOTHING_WRONG, readTopics, until } from '../support/kafka.js';
import { KafkaService } from '../support/kafka-service.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';
import { PASSWORD, type SecuredBrokers, startSecuredBrokers, USER } from '../support/secured-brokers.js';

const WRONG_PASSWORD = 'wrong-e91c';
const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'];
const MEASURED_MS = 1_000;
const CPU_SHARE_MAX = 0.25;

(missingForBroker() ? describe.skip : describe)('brokers that want TLS and a password', () => {
  let server: TestServer;
  let brokers: SecuredBrokers;
  let relayed: RelayedLog;

  beforeAll(async () => {
    [server, brokers] = await Promise.all([startTestServer(), startSecuredBrokers()]);
  }, 120_000);
  afterAll(async () => {
    await brokers?.remove();
    await server?.stop();
  }, 60_000);
  beforeEach(async () => {
    relayed = await RelayedLog.open(server, brokers);
  });
  afterEach(() => relayed.close(), 30_000);

  const right = (mechanism = 'plain') => ({
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA: brokers.ca,
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: PASSWORD,
  });
  const publishesWith = async (environment: Record<string, string>) => {
    await relayed.appendMany(50);
    const relay = relayed.startRelay(environment);
    await relayed.published();
    expect(judge(await readTopics(brokers.kafka, relayed.topics), await relayed.due())).toEqual(NOTHING_WRONG);
    await relay.stop();
  };
  const cpuShare = async (ms: number) => {
    const before = process.cpuUsage();
    await sleep(ms);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / ms;
  };

  it.each(MECHANISMS)(
    'are published to as %s',
    async (mechanism) => {
      await publishesWith(right(mechanism));
      expect(await probeKafka(relayed.settings(right(mechanism)), relayed.postgres.pool)).toEqual({
        brokers: 1,
        behind: 0,
      });
    },
    60_000,
  );

  const wrong: { what: string; set: () => Record<string, string>; state: string; says: RegExp }[] = [
    ...MECHANISMS.map((mechanism) => ({
      what: `a wrong password as ${mechanism}`,
      set: () => ({ ...right(mechanism), KAFKA_SASL_PASSWORD: WRONG_PASSWORD }),
      state: 'refused',
      says: /do not let the user in \(.*authentication failed.*Check KAFKA_SASL_MECHANISM/,
    })),
    {
      what: 'another authority',
      set: () => ({ ...right(), KAFKA_SSL_CA: brokers.otherCa }),
      state: 'refused',
      says: /certificate is not trusted \(.*self-signed certificate\)\. Set KAFKA_SSL_CA/,
    },
    {
      what: 'no authority',
      set: () => ({ ...right(), KAFKA_SSL_CA: '' }),
      state: 'refused',
      says: /certificate is not trusted .*Set KAFKA_SSL_CA/,
    },
    {
      what: 'plain text',
      set: () => ({ ...right(), KAFKA_SSL: '', KAFKA_SSL_CA: '' }),
      state: 'unreachable',
      says: /^Closed connection\. .*without TLS \(KAFKA_SSL\) and given a user/,
    },
    {
      what: 'no user',
      set: () => ({ KAFKA_SSL: 'true', KAFKA_SSL_CA: brokers.ca }),
      state: 'unreachable',
      says: /^Closed connection\. .*with TLS \(KAFKA_SSL\) and given no user \(KAFKA_SASL_…\)/,
    },
  ];
  it.each(wrong)(
    'say what is wrong with $what, at no cost, and are published to once it is set right',
    async ({ set, state, says }) => {
      const lines: string[] = [];
      const logger = new Logger('trace', { write: (line) => void lines.push(line) });
      const relay = relayed.startRelay(set(), logger);
      await until(() => relay.current.state === state);
      expect(relay.current.reason).toMatch(says);
      const probed = await probeKafka(relayed.settings(set()), relayed.postgres.pool).catch(String);
      expect(probed).toMatch(new RegExp(says.source.replace('^', '')));
      const said = lines.length;
      expect(await cpuShare(MEASURED_MS)).toBeLessThan(CPU_SHARE_MAX);
      // What only an operator can mend is looked at again in half a minute.
      if (state === 'refused') expect(lines.slice(said)).toEqual([]);
      await relay.stop();
      expect(lines.join()).toMatch(/Nothing is published to Kafka|Kafka cannot be reached/);
      expect(`${lines.join()} ${relay.current.reason} ${probed}`).not.toMatch(`${PASSWORD}|${WRONG_PASSWORD}`);
      await publishesWith(right());
    },
    60_000,
  );

  it('are named by the service, which stays ready, and by doctor, without a password in any line', async () => {
    const mistaken = { LOG_LEVEL: 'debug', ...right('scram-sha-512'), KAFKA_SASL_PASSWORD: WRONG_PASSWORD };
    const kafka = await KafkaService.open(brokers, mistaken);
    try {
      await until(async () => (await kafka.ready()).body.kafka.state === 'refused', kafka.service.output);
      const { status, body } = await kafka.ready();
      expect([status, body.ok, body.kafka.reason]).toEqual([200, true, expect.stringContaining('KAFKA_SASL_PASSWORD')]);
      const { check, output } = await kafka.doctor();
      expect(check).toMatchObject({ ok: false, detail: expect.stringContaining('do not let the user in') });
      expect(output + kafka.service.output()).not.toContain(WRONG_PASSWORD);
      await kafka.service.end('SIGTERM');
      await kafka.start(0, { KAFKA_SASL_PASSWORD: PASSWORD });
      await until(async () => (await kafka.ready()).body.kafka.state === 'publishing', kafka.service.output);
      expect(kafka.service.output()).not.toContain(PASSWORD);
    } finally {
      await kafka.close();
    }
  }, 120_000);
});
