// One PostgreSQL server and the Patroni that manages it.
import { chownSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, Program, signal, until, withChildren } from './processes.mjs';
import { PROGRAMS, postgresBin } from './programs.mjs';

const REST_TIMEOUT_MS = 2_000;

export class DatabaseNode {
  #patroni;

  constructor({ name, directory, port, restPort, user, config, restartAfterMs }) {
    Object.assign(this, { name, port, restPort });
    this.dataDir = join(directory, name);
    this.logFile = join(directory, `${name}.log`);
    this.configFile = join(directory, `${name}.yml`);
    writeFileSync(this.configFile, config, { mode: 0o600 });
    mkdirSync(this.dataDir, { mode: 0o700, recursive: true });
    for (const file of [this.configFile, this.dataDir]) if (user.uid !== undefined) chownSync(file, user.uid, user.gid);
    this.#patroni = new Program({
      command: PROGRAMS.patroni.file,
      args: [this.configFile],
      user,
      logFile: this.logFile,
      restartAfterMs,
    });
  }

  get pid() {
    return this.#patroni.pid;
  }

  get isRunning() {
    return this.#patroni.isRunning;
  }

  get pidFile() {
    return join(this.dataDir, 'data', 'postmaster.pid');
  }

  start() {
    this.#patroni.start();
  }

  /** What Patroni says about its server; undefined while it does not answer. */
  async status() {
    return this.#ask('/patroni');
  }

  /** All servers of the cluster, as etcd knows them. */
  async members() {
    return (await this.#ask('/cluster'))?.members;
  }

  async #ask(path) {
    try {
      const signal = AbortSignal.timeout(REST_TIMEOUT_MS);
      return await (await fetch(`http://127.0.0.1:${this.restPort}${path}`, { signal })).json();
    } catch {
      return undefined;
    }
  }

  /** Patroni, the server and all its processes. */
  pids() {
    const postmaster = this.#postmaster();
    return [
      ...(this.#patroni.isRunning ? withChildren(this.#patroni.pid) : []),
      ...(postmaster === undefined ? [] : withChildren(postmaster)),
    ];
  }

  /** As when the machine loses power. Frozen first, so that none notices the end of another. */
  async kill() {
    const pids = new Set([...this.pids()]);
    for (const pid of pids) signal(pid, 'SIGSTOP');
    for (const pid of this.pids()) pids.add(pid);
    for (const pid of pids) signal(pid, 'SIGKILL');
    await until(`${this.name} has ended`, () => [...pids].every((pid) => !isAlive(pid)));
  }

  freeze() {
    for (const pid of this.pids()) signal(pid, 'SIGSTOP');
    // Processes that were started meanwhile.
    for (const pid of this.pids()) signal(pid, 'SIGSTOP');
  }

  thaw() {
    for (const pid of this.pids()) signal(pid, 'SIGCONT');
  }

  /** Patroni stops its server. */
  async stop() {
    this.thaw();
    await this.#patroni.stop();
    if (this.#postmaster() !== undefined) await this.kill();
  }

  #postmaster() {
    try {
      const pid = Number(readFileSync(this.pidFile, 'utf8').split('\n')[0]);
      // The file of a killed server may name a process that has its id now.
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      return command.startsWith(postgresBin) && command.includes(this.dataDir) && isAlive(pid) ? pid : undefined;
    } catch {
      return undefined;
    }
  }
}
