import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { probeKafka } from '../../src/kafka/probe.js';
import { missingForBroker } from '../../src/kafka-broker/distribution.js';
import { Logger } from '../../src/kernel/logger.js';
import { judge, NOTHING_WRONG, readTopics, until } from '../support/kafka.js';
import { startTestServer, type TestServer } from '../support/postgres-server.js';
import { RelayedLog } from '../support/relayed-log.js';
import { PASSWORD, type SecuredBrokers, startSecuredBrokers, USER } from '../support/secured-brokers.js';
import { spawnService } from '../support/service-process.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
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
  afterEach(() => relayed.close());

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
    const dataDir = mkdtempSync(join(tmpdir(), 'cc-secured-'));
    // As root, another user runs the database, and it must get to its data.
    chmodSync(dataDir, 0o755);
    const environment = { KAFKA_BROKERS: brokers.brokers, LOG_LEVEL: 'debug', ...right('scram-sha-512') };
    const mistaken = { ...environment, KAFKA_SASL_PASSWORD: WRONG_PASSWORD };
    const kafkaState = async (url: string) => {
      const ready = await fetch(`${url}/readyz`);
      expect(ready.status).toBe(200);
      return ((await ready.json()) as { kafka: { state: string; reason?: string } }).kafka;
    };
    let service = await spawnService(dataDir, mistaken);
    try {
      await until(async () => (await kafkaState(service.url)).state === 'refused', service.output);
      expect((await kafkaState(service.url)).reason).toMatch(/KAFKA_SASL_PASSWORD\.$/);
      const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir, PORT: '0', ...mistaken };
      const run = promisify(execFile)(process.execPath, [CLI, 'doctor', '--json'], { env });
      const { stdout, stderr } = await run.catch((failed: { stdout: string; stderr: string }) => failed);
      const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string }[] };
      expect(checks.find(({ name }) => name === 'kafka')).toMatchObject({
        ok: false,
        detail: expect.stringContaining('do not let the user in'),
      });
      expect(`${stdout} ${stderr} ${service.output()}`).not.toContain(WRONG_PASSWORD);
      await service.end('SIGTERM');
      service = await spawnService(dataDir, environment);
      await until(async () => (await kafkaState(service.url)).state === 'publishing', service.output);
      expect(service.output()).not.toContain(PASSWORD);
    } finally {
      await service.end('SIGTERM');
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    }
  }, 120_000);
});
