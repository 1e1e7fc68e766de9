import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { EventLog } from '../../src/log/event-log.js';
import { PostgresEventLog } from '../../src/log/postgres-event-log.js';
import { Postgres } from '../../src/postgres/postgres.js';
import { temporaryFolder } from './folders.js';
import type { TestBrokers } from './kafka.js';
import { type ServiceProcess, sharedDatabase, spawnService } from './service-process.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** The topics of a service with the default prefix. */
export const TOPICS = ['conversions', 'visitors', 'sites', 'auth', 'inbound', 'outbound', 'users', 'log'].map(
  (name) => `cc.${name}`,
);

/** One or more service processes with Kafka, and direct access to their log. */
export class KafkaEnabledService {
  readonly services: ServiceProcess[] = [];
  readonly log: EventLog;
  private orders = 0;

  private constructor(
    private readonly dataDir: string,
    readonly postgres: Postgres,
    private readonly environment: Record<string, string>,
  ) {
    this.log = new PostgresEventLog(postgres);
  }

  static async open(
    { brokers }: Pick<TestBrokers, 'brokers'>,
    environment: Record<string, string> = {},
    instances = 1,
  ): Promise<KafkaEnabledService> {
    const dataDir = temporaryFolder('cc-kafka-service-');
    const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    const service = new KafkaEnabledService(dataDir, postgres, { KAFKA_BROKERS: brokers, ...environment });
    for (let at = 0; at < instances; at += 1) await service.start(at);
    return service;
  }

  /** Starts the instance with this index, replacing one that has exited. */
  async start(at = 0, environment: Record<string, string> = {}): Promise<void> {
    const database = at === 0 ? {} : sharedDatabase(this.dataDir);
    this.services[at] = await spawnService(this.dataDir, { ...this.environment, ...database, ...environment });
  }

  async close(): Promise<void> {
    await this.log.close();
    await this.postgres.close();
    // One at a time: the last process to exit stops the database.
    for (const service of this.services) await service.end('SIGTERM').catch(() => {});
    rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The first instance. */
  get service(): ServiceProcess {
    return this.services[0] as ServiceProcess;
  }

  /** Posts a conversion with a new order id. Returns the response status. */
  async post(): Promise<number> {
    this.orders += 1;
    const response = await fetch(`${this.service.url.replace('127.0.0.1', 'localhost')}/__cc/inbound`, {
      method: 'POST',
      headers: { 'x-cc-api-key': this.service.key, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'jane@example.com', event: 'purchase', value: 1, orderId: `ORD-${this.orders}` }),
    });
    await response.arrayBuffer();
    return response.status;
  }

  async ready({ url }: ServiceProcess = this.service) {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
    const body = (await response.json()) as { ok: boolean; kafka: { state: string; reason?: string } };
    return { status: response.status, body };
  }

  /** Runs the command line with the settings of the service. Rejects if the exit code is not 0. */
  cli(argv: readonly string[], environment: Record<string, string> = {}): Promise<{ stdout: string; stderr: string }> {
    const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: this.dataDir, PORT: '0', ...this.environment };
    return promisify(execFile)(process.execPath, [CLI, ...argv], { env: { ...env, ...environment } });
  }

  /** The Kafka check of `doctor`, and its whole output. */
  async doctor(environment: Record<string, string> = {}) {
    const run = this.cli(['doctor', '--json'], environment);
    const { stdout, stderr } = await run.catch((failed: { stdout: string; stderr: string }) => failed);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string; fix?: string }[] };
    return { check: checks.find(({ name }) => name === 'kafka'), output: stdout + stderr };
  }

  /** The relay's position; 0 before the first event. */
  async published(): Promise<number> {
    const { rows } = await this.postgres.pool.query<{ position: string }>('SELECT position FROM cc.kafka_relay');
    return Number(rows[0]?.position ?? 0);
  }
}
