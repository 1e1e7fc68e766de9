import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ProjectionRunner } from '../../src/log/projections/projection-runner.js';
import { counted } from '../kafka/counted.projection.mjs';
import { waitUntil } from './kafka.js';
import type { RelayedLog } from './relayed-log.js';

const MEMBER = fileURLToPath(new URL('../kafka/consumer-process.mjs', import.meta.url));
const SITES = ['one.example', 'two.example', 'three.example'];
const CATEGORIES = ['conversion', 'visitor', 'site'];

interface Counted {
  readonly site: string;
  readonly type: string;
  readonly count: number;
}

/** A projection fed by Kafka, its consumers as processes that can be killed and frozen, and its expected rows. */
export class CountedConsumers {
  readonly runner: ProjectionRunner;
  private readonly members: ChildProcess[] = [];

  private constructor(
    private readonly relayed: RelayedLog,
    private readonly nodeOptions: string,
  ) {
    this.runner = new ProjectionRunner(relayed.postgres, [counted]);
  }

  /** @param nodeOptions for the processes: lets a drill preload code that breaks them */
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

  /** Kills the oldest member. */
  async kill(): Promise<void> {
    const member = this.members.shift();
    if (!member) return;
    const exited = once(member, 'exit');
    member.kill('SIGKILL');
    await exited;
  }

  /** Faults by name. A member frozen beyond the session timeout leaves the group and resumes with events it had fetched. */
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
      'frozen, and killed when it resumes': async () => {
        await freeze();
        this.members.unshift(this.members.pop() as ChildProcess);
        await this.kill();
        await this.join();
      },
    };
  }

  /** Appends events of three categories, one of which the projection ignores, for three sites. */
  async appendMany(count: number): Promise<void> {
    await Promise.all(
      Array.from({ length: count }, (_, at) =>
        this.relayed.append(CATEGORIES[at % 3] as string, { site: SITES[(at >> 2) % 3] as string }),
      ),
    );
  }

  /** Appends events steadily while `work` runs. */
  async underLoad(work: () => Promise<void>): Promise<void> {
    let isLoading = true;
    const load = (async () => {
      while (isLoading) {
        await this.appendMany(20);
        await sleep(100);
      }
    })();
    await work().finally(() => {
      isLoading = false;
    });
    await load;
  }

  async caughtUp(): Promise<void> {
    await waitUntil(
      async () => (await this.runner.status())[0]?.lag === 0,
      () => 'not caught up',
    );
  }

  async rows(): Promise<Counted[]> {
    return (await this.relayed.postgres.pool.query<Counted>('SELECT * FROM cc.counted ORDER BY site, type')).rows;
  }

  /** The rows that a fold of the whole log yields. */
  async expectedRows(): Promise<Counted[]> {
    const counts = new Map<string, number>();
    for (const { site, type } of await this.relayed.log.read({ categories: counted.categories ?? [] }))
      counts.set(`${site} ${type}`, (counts.get(`${site} ${type}`) ?? 0) + 1);
    return [...counts].sort().map(([key, count]) => {
      const [site, type] = key.split(' ') as [string, string];
      return { site, type, count };
    });
  }
}
