// The brokers that the cells share: three nodes, as "npm run kafka -- --nodes 3" starts them.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Program } from './processes.mjs';
import { DIST } from './programs.mjs';

const NODES = 3;
/** Includes the download of the jars, once. */
const READY_WITHIN_MS = 600_000;
const READY = /Kafka is ready on (\S+)\. /;

export class ClusterKafka {
  #program;

  static async start(directory, { abort }) {
    const logFile = join(directory, 'kafka.log');
    const args = [
      join(DIST, 'kafka-broker/main.js'),
      '--nodes',
      NODES,
      '--port',
      0,
      '--data',
      join(directory, 'kafka'),
    ];
    // The line of an earlier start would be taken for that of this one.
    rmSync(logFile, { force: true });
    const kafka = new ClusterKafka(new Program({ command: process.execPath, args, env: environment(), logFile }));
    const isReady = () => {
      kafka.brokers = READY.exec(readFileSync(logFile, 'utf8'))?.[1];
      return kafka.brokers !== undefined;
    };
    try {
      await kafka.#program.started('Kafka was ready', isReady, { withinMs: READY_WITHIN_MS, abort });
      return kafka;
    } catch (error) {
      await kafka.stop();
      throw error;
    }
  }

  constructor(program) {
    this.#program = program;
  }

  async stop() {
    await this.#program.stop();
  }
}

/** The jars are in a cache of the user. */
function environment() {
  const { HOME, XDG_CACHE_HOME } = process.env;
  return { ...(HOME && { HOME }), ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }) };
}
