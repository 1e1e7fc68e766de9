import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ProjectionRunner } from '../../src/log/projection-runner.js';
import { counted } from '../kafka/counted.mjs';
import { until } from './kafka.js';
import type { RelayedLog } from './relayed-log.js';

const MEMBER = fileURLToPath(new URL('../kafka/consumer-process.mjs', import.meta.url));
const SITES = ['one.example', 'two.example', 'three.example'];
const CATEGORIES = ['conversion', 'visitor', 'site'];

interface Counted {
  readonly site: string;
  readonly type: string;
  readonly count: number;
}

/** A projection that Kafka feeds, consumers of it as processes that can be killed and frozen, and what it must hold. */
export class CountedConsumers {
  readonly runner: ProjectionRunner;
  private readonly members: ChildProcess[] = [];

  private constructor(
    private readonly relayed: RelayedLog,
    private readonly nodeOptions: string,
  ) {
    this.runner = new ProjectionRunner(relayed.postgres, [counted]);
  }

  /** @param nodeOptions of the processes: a drill that wants to see itself fail loads something into them */
  static async open(relayed: RelayedLog, nodeOptions = ''): Promise<CountedConsumers> {
    const owner = await relayed.postgres.connectAsOwner('test');
    await owner.query(`CREATE TABLE cc.counted (site text, type text, count integer NOT NULL, PRIMARY KEY (site, type));
      GRANT ALL ON cc.counted TO cc_service`);
    await owner.end();
    return new CountedConsumers(relayed, nodeOptions);
  }

  async close(): Promise<void> {
    while (this.members.length > 0) await this.kill();
  }

  async join(): Promise<void> {
    const { databaseUrl, prefix } = this.relayed;
    const { kafkaBrokers } = this.relayed.settings();
    const member = spawn(process.execPath, [MEMBER, databaseUrl, kafkaBrokers.join(','), prefix], {
      env: { ...process.env, NODE_OPTIONS: this.nodeOptions },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.members.push(member);
    await once(member.stdout, 'data');
  }

  /** The one that has been there for longest. */
  async kill(): Promise<void> {
    const member = this.members.shift();
    if (!member) return;
    const gone = once(member, 'exit');
    member.kill('SIGKILL');
    await gone;
  }

  /** What can happen to a group, by name. A frozen one is thought dead if it lasts, and wakes up with what it had read. */
  faults(frozenMs: number): Record<string, () => Promise<void>> {
    const freeze = async () => {
      const member = this.members.shift() as ChildProcess;
      this.members.push(member);
      member.kill('SIGSTOP');
      await sleep(frozenMs);
      member.kill('SIGCONT');
    };
    return {
      killed: async () => {
        await this.kill();
        await this.join();
      },
      frozen: freeze,
      'joined by another, which leaves': async () => {
        await this.join();
        await sleep(frozenMs / 4);
        await this.kill();
      },
      'frozen, and killed as it wakes up': async () => {
        await freeze();
        this.members.unshift(this.members.pop() as ChildProcess);
        await this.kill();
        await this.join();
      },
    };
  }

  /** Of three categories, one of which does not count, for three sites. */
  async appendMany(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, (_, at) =>
        this.relayed.append(CATEGORIES[at % 3] as string, { site: SITES[(at >> 2) % 3] as string }),
      ),
    );
  }

  /** A steady flow of events while something is done. */
  async underLoad(work: () => Promise<void>): Promise<void> {
    let loading = true;
    const load = (async () => {
      while (loading) {
        await this.appendMany(20);
        await sleep(100);
      }
    })();
    await work().finally(() => {
      loading = false;
    });
    await load;
  }

  async caughtUp(): Promise<void> {
    await until(
      async () => (await this.runner.status())[0]?.lag === 0,
      () => 'not caught up',
    );
  }

  async rows(): Promise<Counted[]> {
    return (await this.relayed.postgres.pool.query<Counted>('SELECT * FROM cc.counted ORDER BY site, type')).rows;
  }

  /** The rows as the log itself makes them. */
  async folded(): Promise<Counted[]> {
    const counts = new Map<string, number>();
    for (const { site, type } of await this.relayed.log.read({ categories: counted.categories ?? [] }))
      counts.set(`${site} ${type}`, (counts.get(`${site} ${type}`) ?? 0) + 1);
    return [...counts].sort().map(([key, count]) => {
      const [site, type] = key.split(' ') as [string, string];
      return { site, type, count };
    });
  }
}
