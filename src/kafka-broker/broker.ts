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

// The first compiler alone and one collector thread: a broker that starts in half the time and serves a laptop well.
const JVM = ['-Xms64m', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-XX:+ExitOnOutOfMemoryError'];
const LOG_LINES = [
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
  '-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info',
];
const READY_LINE = 'Kafka Server started';
const READY_WITHIN_MS = 90_000;
const STOPPED_WITHIN_MS = 15_000;

export interface ClusterOptions {
  /** Each node has a folder of its own in it. What it held stays. */
  readonly dataDir: string;
  readonly nodes?: number;
  /** Of the first node; the others follow. 0, or nothing: any that are free. */
  readonly port?: number;
  /** Beside the settings of every node, or instead of them. */
  readonly properties?: Readonly<Record<string, string>>;
  /** For Kafka's own tool that prepares a folder, such as `--add-scram` and a user. */
  readonly formatArgs?: readonly string[];
  readonly say?: (line: string) => void;
}

/** A broker as a child process: it can be killed, frozen, woken up, and started again on what it had. */
export interface BrokerNode {
  readonly address: string;
  readonly pid: number;
  signal(name: NodeJS.Signals): void;
  /** As in a crash. Resolves when the process is gone. */
  kill9(): Promise<void>;
  restart(): Promise<void>;
  /** Resolves when the process is gone, for whatever reason. */
  readonly gone: Promise<unknown>;
  stop(): Promise<void>;
}

export interface BrokerCluster {
  readonly nodes: readonly BrokerNode[];
  /** For KAFKA_BROKERS. */
  readonly brokers: string;
  stop(): Promise<void>;
}

/** A real Kafka on this machine, in KRaft mode: as many nodes as wanted, started together, since one alone has no quorum. */
export async function startBrokers(options: ClusterOptions): Promise<BrokerCluster> {
  const { dataDir, nodes: count = 1, port = 0, say = () => {} } = options;
  const classPath = await brokerClassPath(say);
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
  gone: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly node: NodeAddress,
    private readonly all: readonly NodeAddress[],
    private readonly folder: string,
    private readonly classPath: string,
    private readonly clusterId: string,
    private readonly options: ClusterOptions,
  ) {
    // Whatever ends the one who started it ends it too; a broker that nobody knows of would hold its port for ever.
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
    // Emptied first: a ready line of the last run would be believed.
    const log = openSync(logFile, 'w');
    // A group of its own: Ctrl-C in a terminal reaches the one who started it, who then stops it in order.
    const child = spawn('java', [...JVM, ...LOG_LINES, '-cp', this.classPath, 'kafka.Kafka', properties], {
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    this.child = child;
    this.gone = once(child, 'exit');
    const began = performance.now();
    while (!readFileSync(logFile, 'utf8').includes(READY_LINE)) {
      if (child.exitCode !== null || child.signalCode !== null) {
        throw new UserError(`The broker ended before it was ready. ${lastLines(logFile)}`);
      }
      if (performance.now() - began > READY_WITHIN_MS) {
        await this.kill9();
        throw new UserError(`The broker was not ready in ${READY_WITHIN_MS / 1_000} seconds: look at ${logFile}.`);
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
    await this.gone;
  }

  async stop(): Promise<void> {
    this.child?.kill('SIGTERM');
    const tooLate = setTimeout(() => this.child?.kill('SIGKILL'), STOPPED_WITHIN_MS);
    await this.gone;
    clearTimeout(tooLate);
  }

  private async format(properties: string): Promise<void> {
    // In one word: an id may begin with a dash, and would be taken for an option.
    const id = `--cluster-id=${this.clusterId}`;
    const tool = ['-cp', this.classPath, 'kafka.tools.StorageTool', 'format', id, '--config', properties];
    await promisify(execFile)('java', [...JVM, ...LOG_LINES, ...tool, ...(this.options.formatArgs ?? [])]);
  }
}

/** Made once for a data folder: 16 random bytes, as Kafka spells them. All nodes must name the same one. */
function clusterIdIn(dataDir: string): string {
  const file = join(dataDir, 'cluster-id');
  mkdirSync(dataDir, { recursive: true });
  if (!existsSync(file)) writeFileSync(file, randomBytes(16).toString('base64url'));
  return readFileSync(file, 'utf8');
}

function lastLines(file: string): string {
  return readFileSync(file, 'utf8').trim().split('\n').slice(-5).join(' | ');
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const { port } = server.address() as { port: number };
  await new Promise((closed) => server.close(closed));
  return port;
}
