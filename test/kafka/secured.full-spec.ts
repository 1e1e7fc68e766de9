import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs from 'kafkajs';
import { findRefusal, probeKafka } from '../../src/kafka/probe.js';
import { ProjectionConsumer } from '../../src/kafka/projection-consumer.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { CountedConsumers } from '../support/counted-consumers.js';
import { countViolations, NO_VIOLATIONS, readTopics, waitUntil, withAdmin } from '../support/kafka.js';
import { KafkaEnabledService } from '../support/kafka-enabled-service.js';
import { RelayedLog } from '../support/relayed-log.js';
import { CELL_USER, PASSWORD, type SecuredBrokers, startSecuredBrokers, USER } from '../support/secured-brokers.js';
import { counted } from './counted.projection.mjs';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;

const WRONG_PASSWORD = 'wrong-e91c';
const MECHANISMS = ['plain', 'scram-sha-256', 'scram-sha-512'];
const MEASURED_MS = 1_000;
const CPU_SHARE_MAX = 0.25;

(missingForBroker() ? describe.skip : describe)('brokers that require TLS and authentication', () => {
  let brokers: SecuredBrokers;
  let relayed: RelayedLog;

  beforeAll(async () => {
    brokers = await startSecuredBrokers();
  });
  afterAll(async () => {
    await brokers?.remove();
  });
  beforeEach(async () => {
    relayed = await RelayedLog.open(brokers);
  });
  afterEach(() => relayed.close());

  const validSettings = (mechanism = 'plain') => ({
    KAFKA_SSL: 'true',
    KAFKA_SSL_CA: brokers.ca,
    KAFKA_SASL_MECHANISM: mechanism,
    KAFKA_SASL_USERNAME: USER,
    KAFKA_SASL_PASSWORD: PASSWORD,
  });
  /** As in docs/kafka.md. */
  const grant = async (prefix: string) => {
    const { CREATE, DESCRIBE, WRITE, READ, DELETE } = AclOperationTypes;
    const rights = [
      { resourceType: AclResourceTypes.TOPIC, operations: [CREATE, DESCRIBE, WRITE, READ] },
      { resourceType: AclResourceTypes.TRANSACTIONAL_ID, operations: [DESCRIBE, WRITE] },
      { resourceType: AclResourceTypes.GROUP, operations: [READ, DESCRIBE, DELETE] },
    ];
    const acl = rights.flatMap(({ resourceType, operations }) =>
      operations.map((operation) => ({
        ...{ resourceType, resourceName: prefix, resourcePatternType: ResourcePatternTypes.PREFIXED },
        ...{ principal: `User:${CELL_USER}`, host: '*', operation, permissionType: AclPermissionTypes.ALLOW },
      })),
    );
    await withAdmin(brokers.kafka, (admin) => admin.createAcls({ acl }));
  };
  const publishesWith = async (environment: Record<string, string>) => {
    await relayed.appendMany(50);
    const relay = relayed.startRelay(environment);
    await relayed.published();
    expect(countViolations(await readTopics(brokers.kafka, relayed.topics), await relayed.expectedPositions())).toEqual(
      NO_VIOLATIONS,
    );
    await relay.stop();
  };
  const cpuShare = async (ms: number) => {
    const before = process.cpuUsage();
    await sleep(ms);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000 / ms;
  };
  /** The least of up to ten measurements: a busy loop uses a core in every one, garbage collection only in some. */
  const idleCpuShare = async () => {
    let share = await cpuShare(MEASURED_MS);
    for (let measured = 1; measured < 10 && share >= CPU_SHARE_MAX; measured += 1) share = await cpuShare(MEASURED_MS);
    return share;
  };

  it.each(MECHANISMS)('accept the relay with %s authentication', async (mechanism) => {
    await publishesWith(validSettings(mechanism));
    expect(await probeKafka(relayed.settings(validSettings(mechanism)), relayed.postgres.pool)).toEqual({
      brokers: 1,
      behind: 0,
    });
  });

  it('accept a cell with the documented ACLs under its own prefix, and not under another one', async () => {
    const environment = { ...validSettings(), KAFKA_SASL_USERNAME: CELL_USER };
    await grant(relayed.prefix);
    await publishesWith(environment);
    expect(await findRefusal(relayed.settings(environment), relayed.postgres)).toBeUndefined();
    const counts = await CountedConsumers.open(relayed);
    relayed.startRelay(environment);
    const settings = relayed.settings(environment);
    relayed.start(new ProjectionConsumer(relayed.postgres, settings, counted, counts.runner, new Logger('silent')));
    await counts.appendMany(60);
    await counts.caughtUp();
    expect(await counts.rows()).toEqual(await counts.expectedRows());
    await relayed.stopAll();
    relayed.prefix = `other-${relayed.prefix}`;
    const relay = relayed.startRelay(environment);
    await waitUntil(() => relay.current.state === 'refused');
    expect(relay.current.reason).toMatch(/deny the user .*TOPIC_AUTHORIZATION_FAILED.*Grant the ACLs/);
  });

  const misconfigurations: {
    what: string;
    environment: () => Record<string, string>;
    state: string;
    reason: RegExp;
  }[] = [
    ...MECHANISMS.map((mechanism) => ({
      what: `a wrong password as ${mechanism}`,
      environment: () => ({ ...validSettings(mechanism), KAFKA_SASL_PASSWORD: WRONG_PASSWORD }),
      state: 'refused',
      reason: /rejected the credentials \(.*authentication failed.*Check KAFKA_SASL_MECHANISM/,
    })),
    {
      what: 'another certificate authority',
      environment: () => ({ ...validSettings(), KAFKA_SSL_CA: brokers.otherCa }),
      state: 'refused',
      reason: /certificate is not trusted \(DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate\)\. Set KAFKA_SSL_CA/,
    },
    {
      what: 'no certificate authority',
      environment: () => ({ ...validSettings(), KAFKA_SSL_CA: '' }),
      state: 'refused',
      reason: /certificate is not trusted .*Set KAFKA_SSL_CA/,
    },
    {
      what: 'plain text',
      environment: () => ({ ...validSettings(), KAFKA_SSL: '', KAFKA_SSL_CA: '' }),
      state: 'unreachable',
      reason: /^Closed connection\. .*without TLS \(KAFKA_SSL\) and with a user/,
    },
    {
      what: 'no user',
      environment: () => ({ KAFKA_SSL: 'true', KAFKA_SSL_CA: brokers.ca }),
      state: 'unreachable',
      reason: /^Closed connection\. .*with TLS \(KAFKA_SSL\) and without a user \(KAFKA_SASL_…\)/,
    },
  ];
  it.each(misconfigurations)(
    'cause an error that names the settings for $what, without a busy loop, and accept corrected settings',
    async ({ environment, state, reason }) => {
      const lines: string[] = [];
      const logger = new Logger('trace', { write: (line) => void lines.push(line) });
      const relay = relayed.startRelay(environment(), logger);
      await waitUntil(() => relay.current.state === state);
      expect(relay.current.reason).toMatch(reason);
      const probeError = await probeKafka(relayed.settings(environment()), relayed.postgres.pool).catch(String);
      expect(probeError).toMatch(new RegExp(reason.source.replace('^', '')));
      const linesBefore = lines.length;
      expect(await idleCpuShare()).toBeLessThan(CPU_SHARE_MAX);
      // A refused relay makes no attempt during the measurement: the next one follows after 30 s.
      if (state === 'refused') expect(lines.slice(linesBefore)).toEqual([]);
      await relay.stop();
      expect(lines.join()).toMatch(/Publishing to Kafka is suspended|Kafka is unreachable/);
      expect(`${lines.join()} ${relay.current.reason} ${probeError}`).not.toMatch(`${PASSWORD}|${WRONG_PASSWORD}`);
      await publishesWith(validSettings());
    },
  );

  it('appear in readiness, which stays 200, and in doctor, without a password in any output', async () => {
    const wrongPassword = {
      LOG_LEVEL: 'debug',
      ...validSettings('scram-sha-512'),
      KAFKA_SASL_PASSWORD: WRONG_PASSWORD,
    };
    const kafka = await KafkaEnabledService.open(brokers, wrongPassword);
    try {
      await waitUntil(async () => (await kafka.ready()).body.kafka.state === 'refused', kafka.service.output);
      const { status, body } = await kafka.ready();
      expect([status, body.ok, body.kafka.reason]).toEqual([200, true, expect.stringContaining('KAFKA_SASL_PASSWORD')]);
      const { check, output } = await kafka.doctor();
      expect(check).toMatchObject({ ok: false, detail: expect.stringContaining('rejected the credentials') });
      expect(output + kafka.service.output()).not.toContain(WRONG_PASSWORD);
      await kafka.service.end('SIGTERM');
      await kafka.start(0, { KAFKA_SASL_PASSWORD: PASSWORD });
      await waitUntil(async () => (await kafka.ready()).body.kafka.state === 'publishing', kafka.service.output);
      expect(kafka.service.output()).not.toContain(PASSWORD);
    } finally {
      await kafka.close();
    }
  });
});
