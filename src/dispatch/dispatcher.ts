import { randomBytes } from 'node:crypto';
import type { EventLog } from '../log/event-log.js';
import { Lease } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import type { OpenSite } from '../sites/site-directory.js';
import type { Courier } from './courier.js';
import type { Results } from './delivery.js';
import { type Closing, OpenConversion } from './open-conversion.js';
import type { Pinned, ReceivedConversion } from './received.js';
import { type Unfinished, unfinishedAfter } from './unfinished.js';

const INSTANCE = 'instance:';
const TICK_MS = 200;
const RESCUE_EVERY_MS = 2_000;
const STOP_WITHIN_MS = 3_000;

export interface DispatcherOptions {
  /** How long a sender waits for platforms. */
  readonly deadlineMs: number;
  say(line: string): void;
}

/**
 * Sends what this process has received, to all platforms side by side. What is on its way is known by its position: the
 * process's lease says up to where everything has been settled, so that whoever takes over after a crash reads the log
 * from there. A conversion on its way therefore costs no row of its own: `docs/decisions/0006-no-open-rows.md`.
 */
export class Dispatcher {
  private readonly open = new Map<number, OpenConversion>();
  /** Of others, and of this process's past. */
  private readonly rescued = new Set<OpenConversion>();
  private instance = '';
  private lease: Lease | undefined;
  private newest = 0;
  /** Something after this position may have been stored by this process and not be on its way. */
  private doubtAfter: number | undefined;
  private readonly timers: NodeJS.Timeout[] = [];
  private rescuing: Promise<void> | undefined;
  private stopping = false;

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly courier: Courier,
    private readonly options: DispatcherOptions,
  ) {}

  async start(): Promise<void> {
    await this.register();
    this.timers.push(setInterval(() => this.tick(), TICK_MS));
    this.timers.push(setInterval(() => this.rescueQuietly(), RESCUE_EVERY_MS));
    this.rescueQuietly();
  }

  /** What a conversion of this site says of its dispatch; nothing while no platform is connected. */
  pin(site: OpenSite): Pinned {
    if (site.connections.size === 0) return {};
    return { platforms: [...site.connections.keys()], settings: site.settingsPosition, instance: this.instance };
  }

  /** Its results, once all are known and written down, or when the sender has waited long enough. */
  dispatch(received: ReceivedConversion): Promise<Results> {
    const platforms = received.data.platforms ?? [];
    const { lease } = this;
    if (platforms.length === 0 || !lease) return Promise.resolve({});
    const { position } = received;
    this.newest = Math.max(this.newest, position);
    const conversion = this.send({ received, missing: platforms, version: 1 }, lease, (how) => {
      this.open.delete(position);
      if (how === 'forbidden') this.doubt(position - 1);
    });
    this.open.set(position, conversion);
    return conversion.settled();
  }

  /** A conversion with platforms may have been stored although nobody could say so: the log is asked later. */
  doubt(after = this.settledUpTo): void {
    this.doubtAfter = Math.min(this.doubtAfter ?? after, after);
  }

  /** Of this process; undefined while it has none. */
  get ownLease(): Lease | undefined {
    return this.lease;
  }

  /** What is on its way gets a moment to arrive; the rest is left to whoever comes next. */
  async stop(): Promise<void> {
    this.stopping = true;
    const patience = performance.now() + STOP_WITHIN_MS;
    while ((this.open.size > 0 || this.rescuing) && performance.now() < patience)
      await new Promise((next) => setTimeout(next, 20));
    for (const timer of this.timers) clearInterval(timer);
    if (!this.lease) return;
    this.lease.reached = this.settledUpTo;
    await (this.open.size === 0 && this.doubtAfter === undefined ? this.lease.end() : this.lease.release());
  }

  /** Everything this process has received up to here has been settled. */
  private get settledUpTo(): number {
    let first = this.open.size === 0 ? this.newest + 1 : Number.POSITIVE_INFINITY;
    for (const position of this.open.keys()) first = Math.min(first, position);
    return Math.min(first - 1, this.doubtAfter ?? Number.POSITIVE_INFINITY);
  }

  private send(unfinished: Unfinished, lease: Lease, close: (how: Closing) => void): OpenConversion {
    const { received, missing, version } = unfinished;
    const conversion = new OpenConversion(
      received,
      new Set(missing),
      version,
      this.log,
      close,
      this.options.deadlineMs,
    );
    for (const platform of missing) {
      this.courier.carry({ received, platform, attempt: 1, mayGo: () => lease.held }, (outcome) => {
        if (outcome) conversion.settle(outcome);
        else conversion.abandon('forbidden');
      });
    }
    return conversion;
  }

  private async register(): Promise<void> {
    const instance = randomBytes(6).toString('hex');
    const head = await this.log.head();
    const lease = await Lease.take(this.postgres.pool, INSTANCE + instance, head);
    this.newest = head;
    this.doubtAfter = undefined;
    this.instance = instance;
    this.lease = lease;
  }

  private tick(): void {
    const now = performance.now();
    for (const conversion of this.open.values()) conversion.tick(now);
    for (const conversion of this.rescued) conversion.tick(now);
    this.courier.tick();
    if (this.lease) this.lease.reached = this.settledUpTo;
  }

  private rescueQuietly(): void {
    if (this.stopping) return;
    this.rescuing ??= this.rescue()
      // The database is away: the next round finds what this one could not.
      .catch(() => {})
      .finally(() => {
        this.rescuing = undefined;
      });
  }

  private async rescue(): Promise<void> {
    if (this.lease?.isLost) {
      // Somebody has taken this process for dead and looks after what it received: it goes on under another name.
      this.options.say('This process lost its lease, having been frozen or cut off: it goes on under a new one');
      this.lease = undefined;
      for (const conversion of this.open.values()) conversion.abandon('refused');
    }
    if (!this.lease) await this.register();
    const { lease, doubtAfter } = this;
    if (lease?.held && doubtAfter !== undefined) {
      // What is doubted from here on is new, and looked at in the next round.
      const until = await this.log.head();
      await this.finish(doubtAfter, until, [this.instance], lease);
      if (this.doubtAfter === doubtAfter) this.doubtAfter = undefined;
    }
    for (const name of await Lease.expired(this.postgres.pool, INSTANCE)) {
      const taken = await Lease.take(this.postgres.pool, name);
      if (!taken) continue;
      const finished = await this.finish(taken.reached, await this.log.head(), [name.slice(INSTANCE.length)], taken);
      if (finished > 0) this.options.say(`Took over ${finished} conversions that another process left unfinished`);
      await (taken.held ? taken.end() : taken.release());
    }
  }

  /** Sends what those instances received in a stretch of the log and did not settle. Resolves when it is settled. */
  private async finish(after: number, until: number, instances: readonly string[], lease: Lease): Promise<number> {
    const found = await unfinishedAfter(this.log, after, until, instances);
    const left = found.filter(({ received }) => !this.open.has(received.position));
    await Promise.all(
      left.map(
        (unfinished) =>
          new Promise<void>((resolve) => {
            const conversion = this.send(unfinished, lease, () => {
              this.rescued.delete(conversion);
              resolve();
            });
            this.rescued.add(conversion);
          }),
      ),
    );
    return left.length;
  }
}
