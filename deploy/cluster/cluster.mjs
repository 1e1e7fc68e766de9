// Two cells, the brokers that they share, and a sandbox of the platforms.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Cell } from './cell.mjs';
import { ClusterKafka } from './kafka.mjs';
import { freePort, isOk, Program } from './processes.mjs';
import { DIST, openForDatabaseUser } from './programs.mjs';

const CELLS = ['cell-1', 'cell-2'];

export class Cluster {
  #sandbox;
  #kafka;
  cells = [];

  /** Starts everything in the folder, where an earlier start may have left its data. Stops everything if a part does not start. */
  static async start(directory, { abort }) {
    mkdirSync(directory, { recursive: true });
    openForDatabaseUser(directory);
    const cluster = new Cluster(directory);
    try {
      await cluster.#start(abort);
      return cluster;
    } catch (error) {
      await cluster.stop();
      throw error;
    }
  }

  constructor(directory) {
    this.directory = directory;
  }

  async #start(abort) {
    const failed = new AbortController();
    const options = { abort: AbortSignal.any([abort, failed.signal]) };
    const sandbox = await this.#startSandbox(options);
    const kafka = ClusterKafka.start(this.directory, options).then((started) => {
      this.#kafka = started;
      return started.brokers;
    });
    const cells = CELLS.map(async (name) => {
      const cell = await Cell.start(join(this.directory, name), { name, brokers: kafka, sandbox, ...options });
      this.cells.push(cell);
    });
    // The others stop when one fails, and this waits for them: nothing is started any more when it returns.
    const parts = [kafka, ...cells].map((part) => part.catch((error) => failed.abort(error)));
    await Promise.all(parts);
    options.abort.throwIfAborted();
    this.cells.sort((a, b) => a.name.localeCompare(b.name));
    writeFileSync(join(this.directory, 'cluster.json'), JSON.stringify(this.description, null, 2), { mode: 0o600 });
  }

  get brokers() {
    return this.#kafka.brokers;
  }

  /** Addresses and secrets, for scripts. */
  get description() {
    return { kafka: this.brokers, cells: this.cells.map(({ description }) => description) };
  }

  async #startSandbox(options) {
    const port = await freePort();
    const args = [join(DIST, 'sandbox/main.js'), '--port', port];
    this.#sandbox = new Program({ command: process.execPath, args, logFile: join(this.directory, 'sandbox.log') });
    const url = `http://127.0.0.1:${port}`;
    await this.#sandbox.started('the sandbox answered', () => isOk(url), options);
    return url;
  }

  async stop() {
    // All at once: a cell publishes later what it cannot publish now.
    await Promise.all([...this.cells, this.#kafka, this.#sandbox].map((part) => part?.stop()));
  }
}
