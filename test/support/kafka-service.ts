import { execFile } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { EventLog } from '../../src/log/event-log.js';
import { Postgres } from '../../src/postgres/postgres.js';
import type { TestBrokers } from './kafka.js';
import { type ServiceProcess, spawnService } from './service-process.js';

const CLI = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));

/** What the topics of a service with the usual prefix are called. */
export const TOPICS = ['conversions', 'visitors', 'sites', 'auth', 'outbound'].map((name) => `cc.${name}`);

/** The service with Kafka as people run it, one instance or several, and a look into its log from beside it. */
export class KafkaService {
  readonly services: ServiceProcess[] = [];
  readonly log: EventLog;
  private orders = 0;

  private constructor(
    private readonly dataDir: string,
    readonly postgres: Postgres,
    private readonly environment: Record<string, string>,
  ) {
    this.log = new EventLog(postgres);
  }

  static async open(
    { brokers }: Pick<TestBrokers, 'brokers'>,
    environment: Record<string, string> = {},
    instances = 1,
  ): Promise<KafkaService> {
    const dataDir = mkdtempSync(join(tmpdir(), 'cc-kafka-service-'));
    // As root, another user runs the database, and it must get to its data.
    chmodSync(dataDir, 0o755);
    const postgres = await Postgres.open({ databaseUrl: undefined, dataDir, onMessage: () => {} });
    const opened = new KafkaService(dataDir, postgres, { KAFKA_BROKERS: brokers, ...environment });
    for (let at = 0; at < instances; at += 1) await opened.start(at);
    return opened;
  }

  /** An instance in this place, instead of the one that has ended there. */
  async start(at = 0, environment: Record<string, string> = {}): Promise<void> {
    this.services[at] = await spawnService(this.dataDir, { ...this.environment, ...environment });
  }

  async close(): Promise<void> {
    await this.log.close();
    await this.postgres.close();
    // In order: the last one to leave stops the database.
    for (const service of this.services) await service.end('SIGTERM').catch(() => {});
    rmSync(this.dataDir, { recursive: true, force: true, maxRetries: 5 });
  }

  /** The only one, or the first. */
  get service(): ServiceProcess {
    return this.services[0] as ServiceProcess;
  }

  /** Sends a conversion that nobody has sent before. Returns the answer's status. */
  async post(): Promise<number> {
    this.orders += 1;
    const reply = await fetch(`${this.service.url.replace('127.0.0.1', 'localhost')}/__cc/inbound`, {
      method: 'POST',
      headers: { 'x-cc-api-key': this.service.key, 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'jane@example.com', event: 'purchase', value: 1, orderId: `ORD-${this.orders}` }),
    });
    await reply.arrayBuffer();
    return reply.status;
  }

  async ready({ url }: ServiceProcess = this.service) {
    const reply = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(2_000) });
    const body = (await reply.json()) as { ok: boolean; kafka: { state: string; reason?: string } };
    return { status: reply.status, body };
  }

  /** The command line, with the settings of the service. Rejects where it ends with another code than 0. */
  cli(argv: readonly string[], environment: Record<string, string> = {}): Promise<{ stdout: string; stderr: string }> {
    const env = { PATH: process.env['PATH'] ?? '', DATA_DIR: this.dataDir, PORT: '0', ...this.environment };
    return promisify(execFile)(process.execPath, [CLI, ...argv], { env: { ...env, ...environment } });
  }

  /** What `doctor` finds about Kafka, and everything it said. */
  async doctor(environment: Record<string, string> = {}) {
    const ran = this.cli(['doctor', '--json'], environment);
    const { stdout, stderr } = await ran.catch((failed: { stdout: string; stderr: string }) => failed);
    const { checks } = JSON.parse(stdout) as { checks: { name: string; ok: boolean; detail: string; fix?: string }[] };
    return { check: checks.find(({ name }) => name === 'kafka'), output: stdout + stderr };
  }

  /** How far the relay has come; 0 before the first event. */
  async published(): Promise<number> {
    const { rows } = await this.postgres.pool.query<{ position: string }>('SELECT position FROM cc.kafka_relay');
    return Number(rows[0]?.position ?? 0);
  }
}
