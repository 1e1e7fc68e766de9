import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { UserError } from '../kernel/errors.js';
import { brokerClassPath } from './distribution.js';
import { type NodeAddress, serverProperties } from './properties.js';

// C1 only and the serial collector: the broker starts in half the time and is fast enough for development.
const JVM_OPTIONS = [
  '-Xms64m',
  '-Xmx256m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-XX:+ExitOnOutOfMemoryError',
];
const LOG_OPTIONS = [
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
];
const READY_LINE = 'Kafka Server started';
// Three brokers on a machine that is busy with other work need minutes.
const READY_TIMEOUT_MS = 300_000;
const STOP_TIMEOUT_MS = 15_000;

export interface ClusterOptions {
  /** Contains one folder per node. Existing data is reused. */
  readonly dataDir: string;
  readonly nodes?: number;
  /** Port of the first node; the others use the following ports. 0 or undefined: free ports. */
  readonly port?: number;
  /** Added to the default properties of every node, overriding them. */
  readonly properties?: Readonly<Record<string, string>>;
  /** Arguments for Kafka's storage tool, such as `--add-scram` and a user. */
  readonly formatArgs?: readonly string[];
  readonly log?: (line: string) => void;
}

/** A broker process that can be killed, frozen, resumed and restarted on its data. */
export interface BrokerNode {
  readonly address: string;
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
  /** Simulates a crash. Resolves when the process has exited. */
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** Resolves when the process has exited, for any reason. */
  readonly exited: Promise<unknown>;
  stop(): Promise<void>;
}

export interface BrokerCluster {
  readonly nodes: readonly BrokerNode[];
  /** For KAFKA_BROKERS. */
  readonly brokers: string;
  stop(): Promise<void>;
}

/** Starts Apache Kafka in KRaft mode on this machine. All nodes start together, because a single one has no quorum. */
export async function startBrokers(options: ClusterOptions): Promise<BrokerCluster> {
  const { dataDir, nodes: count = 1, port = 0, log = () => {} } = options;
  const classPath = await brokerClassPath(log);
  const clusterId = clusterIdIn(dataDir);
  const addresses: NodeAddress[] = [];
  for (let id = 1; id <= count; id += 1) {
    addresses.push({
      id,
      port: port === 0 ? await freePort() : port + id - 1,
      controllerPort: await freePort(),
    });
  }
  const nodes = addresses.map((address) => {
    return new Node(address, addresses, resolve(dataDir, `node-${address.id}`), classPath, clusterId, options);
  });
  try {
    await Promise.all(nodes.map((node) => node.start()));
  } catch (error) {
    await Promise.all(nodes.map((node) => node.kill9()));
    throw error;
  }
  return {
    nodes,
    brokers: nodes.map(({ address }) => address).join(','),
    stop: async () => void (await Promise.all(nodes.map((node) => node.stop()))),
  };
}

class Node implements BrokerNode {
  private child: ChildProcess | undefined;
  exited: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly node: NodeAddress,
    private readonly all: readonly NodeAddress[],
    private readonly folder: string,
    private readonly classPath: string,
    private readonly clusterId: string,
    private readonly options: ClusterOptions,
  ) {
    // Neither the broker nor the storage tool may outlive this process: an orphan would keep its port, or write to the data.
    process.on('exit', () => this.child?.kill('SIGKILL'));
  }

  get address(): string {
    return `127.0.0.1:${this.node.port}`;
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  async start(): Promise<void> {
    const dataDir = join(this.folder, 'data');
    const properties = join(this.folder, 'server.properties');
    const logFile = join(this.folder, 'broker.log');
    mkdirSync(this.folder, { recursive: true });
    writeFileSync(properties, serverProperties(this.node, this.all, dataDir, this.options.properties));
    if (!existsSync(join(dataDir, 'meta.properties'))) await this.format(properties);
    // Truncated, because the ready line of the last run would be mistaken for this one's.
    const output = openSync(logFile, 'w');
    // Its own process group: Ctrl-C in a terminal reaches this process only, which then stops the broker cleanly.
    const child = spawn('java', [...JVM_OPTIONS, ...LOG_OPTIONS, '-cp', this.classPath, 'kafka.Kafka', properties], {
      stdio: ['ignore', output, output],
      detached: true,
    });
    closeSync(output);
    this.child = child;
    this.exited = once(child, 'exit');
    const startedMs = performance.now();
    while (!readFileSync(logFile, 'utf8').includes(READY_LINE)) {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new UserError(`The broker exited before it was ready: ${lastLines(logFile)}`);
      }
      if (performance.now() - startedMs > READY_TIMEOUT_MS) {
        await this.kill9();
        throw new UserError(`The broker was not ready after ${READY_TIMEOUT_MS / 1_000} s. See ${logFile}.`);
      }
      await sleep(50);
    }
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  signal(name: NodeJS.Signals): void {
    this.child?.kill(name);
  }

  async kill9(): Promise<void> {
    this.child?.kill('SIGKILL');
    await this.exited;
  }

  async stop(): Promise<void> {
    this.child?.kill('SIGTERM');
    const killTimer = setTimeout(() => this.child?.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await this.exited;
    clearTimeout(killTimer);
  }

  private async format(properties: string): Promise<void> {
    // With an equals sign: an id may begin with a dash and would be parsed as an option.
    const id = `--cluster-id=${this.clusterId}`;
    const tool = ['-cp', this.classPath, 'kafka.tools.StorageTool', 'format', id, '--config', properties];
    const args = [...JVM_OPTIONS, ...LOG_OPTIONS, ...tool, ...(this.options.formatArgs ?? [])];
    const formatted = promisify(execFile)('java', args);
    this.child = formatted.child;
    await formatted;
  }
}

/** Created once per data folder and shared by all nodes: 16 random bytes in Kafka's base64url format. */
function clusterIdIn(dataDir: string): string {
  const file = join(dataDir, 'cluster-id');
  mkdirSync(dataDir, { recursive: true });
  if (!existsSync(file)) writeFileSync(file, randomBytes(16).toString('base64url'));
  return readFileSync(file, 'utf8');
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-5).join(' | ');
}

/** A port is free again until its broker listens, so it must not be given to another one meanwhile. */
const givenPorts = new Set<number>();

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  if (givenPorts.has(port)) return freePort();
  givenPorts.add(port);
  return port;
}
