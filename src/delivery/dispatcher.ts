import { randomBytes } from 'node:crypto';
import { type DeliveryPlan } from '../events/conversion.events.js';
import type { EventLog } from '../log/event-log.js';
import { Lease } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import type { LoadedSite } from '../sites/site-directory.js';
import type { Courier } from './courier.js';
import { type Results, resultOf } from './delivery.js';
import { type Closing, OpenConversion } from './open-conversion.js';
import type { ReceivedConversion } from './received.js';
import { type Unfinished, unfinishedAfter } from './unfinished.js';

const INSTANCE = 'instance:';
const TICK_MS = 200;
const RESCUE_EVERY_MS = 2_000;
const STOP_WITHIN_MS = 3_000;
/** An append that nobody waits for any more may still be committed so much later. */
const DOUBT_RIPENS_MS = 5_000;

const UNCONNECTED: DeliveryPlan = {};

export interface DispatcherOptions {
  /** How long a sender waits for platforms. */
  readonly deadlineMs: number;
  say(line: string): void;
  /** Brings what waits for another try up to the log. */
  foldOutcomes(): Promise<void>;
}

/**
 * Sends what this process has received, to all platforms side by side. What is on its way is known by its position: the
 * process's lease says up to where everything has been settled, so that whoever takes over after a crash reads the log
 * from there. A conversion on its way therefore costs no row of its own: `docs/decisions/0006-no-row-per-conversion-in-flight.md`.
 */
export class Dispatcher {
  private readonly open = new Map<number, OpenConversion>();
  /** Of others, and of this process's past. */
  private readonly rescued = new Set<OpenConversion>();
  /** The same for all conversions of a site until the site changes. */
  private readonly pins = new WeakMap<LoadedSite, DeliveryPlan>();
  private instance = '';
  private lease: Lease | undefined;
  private newest = 0;
  /** Something after this position may have been stored by this process and not be on its way. */
  private doubtAfter: number | undefined;
  private doubtedAt = 0;
  /** While doubts are looked into: positions that are, or have been, on their way, so that none is sent twice. */
  private sent: Set<number> | undefined;
  /** Names that this process has lost, and the position after which something was received under them. */
  private readonly left = new Map<string, number>();
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
  pin(site: LoadedSite): DeliveryPlan {
    if (site.connections.size === 0) return UNCONNECTED;
    const known = this.pins.get(site);
    if (known?.instance === this.instance) return known;
    const pinned = {
      platforms: [...site.connections.keys()],
      settings: site.settingsPosition,
      instance: this.instance,
    };
    this.pins.set(site, pinned);
    return pinned;
  }

  /** Its results, once all are known and written down, or when the sender has waited long enough. */
  dispatch(received: ReceivedConversion): Promise<Results> {
    const { platforms = [], instance = '' } = received.data;
    const { position } = received;
    const { lease } = this;
    if (platforms.length === 0) return Promise.resolve({});
    if (!lease || instance !== this.instance) {
      // Its name was lost while it was being stored: whoever takes the name up next sends it.
      this.leave(instance, position - 1);
      return Promise.resolve(pending(received));
    }
    if (this.sent?.has(position)) return Promise.resolve(pending(received));
    this.sent?.add(position);
    this.newest = Math.max(this.newest, position);
    const conversion = this.send({ received, missing: platforms, version: 1 }, lease, (how) => {
      this.open.delete(position);
      this.rescued.delete(conversion);
      if (how !== 'forbidden') return;
      if (instance === this.instance) this.doubt(position - 1);
      else this.leave(instance, position - 1);
    });
    this.open.set(position, conversion);
    return conversion.settled();
  }

  /** A conversion with platforms may have been stored although nobody could say so: the log is asked later. */
  doubt(after = this.settledUpTo): void {
    this.doubtAfter = Math.min(this.doubtAfter ?? after, after);
    this.doubtedAt = performance.now();
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
    // Should the database be away, leases run out by themselves.
    await this.tellWhatIsLeft().catch(() => {});
    if (!this.lease) return;
    this.lease.reached = this.settledUpTo;
    const isDone = this.open.size === 0 && this.doubtAfter === undefined;
    await (isDone ? this.end(this.lease) : this.lease.release()).catch(() => {});
  }

  /** Everything this process has received up to here has been settled. */
  private get settledUpTo(): number {
    let first = this.open.size === 0 ? this.newest + 1 : Number.POSITIVE_INFINITY;
    for (const position of this.open.keys()) first = Math.min(first, position);
    return Math.min(first - 1, this.doubtAfter ?? Number.POSITIVE_INFINITY);
  }

  private send(unfinished: Unfinished, lease: Lease, close: (how: Closing) => void): OpenConversion {
    const { received, missing, version } = unfinished;
    const closed = (how: Closing) => {
      if (how === 'refused')
        this.options.say(`The log refuses what became of conversion ${received.data.conversionId}: it stays as it was`);
      close(how);
    };
    const { deadlineMs } = this.options;
    const conversion = new OpenConversion(received, new Set(missing), version, this.log, closed, deadlineMs);
    for (const platform of missing) {
      this.courier.carry({ received, platform, attempt: 1, mayGo: () => lease.held }, (outcome) => {
        if (outcome) conversion.settle(outcome);
        else conversion.forbid(platform);
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
    if (this.lease?.isLost) this.loseName();
    if (!this.lease) await this.register();
    await this.tellWhatIsLeft();
    await this.lookIntoDoubts();
    for (const name of await Lease.expired(this.postgres.pool, INSTANCE)) {
      // Its own will be renewed in a moment.
      if (name !== this.lease?.name) await this.clearUpAfter(name);
    }
  }

  private async clearUpAfter(name: string): Promise<void> {
    const taken = await Lease.take(this.postgres.pool, name);
    if (!taken) return;
    try {
      const until = await this.log.head();
      const { found, isDone } = await this.finish(taken.reached, until, name.slice(INSTANCE.length), taken);
      if (found > 0) this.options.say(`Took over ${found} conversions that another process left unfinished`);
      if (!isDone) return await taken.release();
      taken.reached = until;
      await this.end(taken);
    } catch (error) {
      await taken.release().catch(() => {});
      throw error;
    }
  }

  /** Claims on tries end with the lease of whoever made them: by then it must be known what came of those tries. */
  private async end(lease: Lease): Promise<void> {
    try {
      await this.options.foldOutcomes();
    } catch {
      return lease.release();
    }
    await lease.end();
  }

  /** Somebody has taken this process for dead and looks after what it received: it goes on under another name. */
  private loseName(): void {
    this.options.say('This process lost its lease, having been frozen or cut off: it goes on under a new one');
    // Whoever took it over may have looked before the last of it was stored.
    this.leave(this.instance, this.settledUpTo);
    this.lease = undefined;
    this.doubtAfter = undefined;
    for (const conversion of this.open.values()) {
      conversion.tell();
      this.rescued.add(conversion);
    }
    this.open.clear();
  }

  private leave(instance: string, after: number): void {
    this.left.set(instance, Math.min(this.left.get(instance) ?? after, after));
  }

  private async tellWhatIsLeft(): Promise<void> {
    for (const [instance, after] of this.left) {
      await Lease.leave(this.postgres.pool, INSTANCE + instance, after);
      if (this.left.get(instance) === after) this.left.delete(instance);
    }
  }

  private async lookIntoDoubts(): Promise<void> {
    const { lease, doubtAfter, doubtedAt } = this;
    if (!lease?.held || doubtAfter === undefined || performance.now() - doubtedAt < DOUBT_RIPENS_MS) return;
    this.sent = new Set(this.open.keys());
    try {
      const { isDone } = await this.finish(doubtAfter, await this.log.head(), this.instance, lease);
      // What was doubted meanwhile is looked at in a later round.
      if (isDone && this.doubtedAt === doubtedAt) this.doubtAfter = undefined;
    } finally {
      this.sent = undefined;
    }
  }

  /** Sends what that instance received in a stretch of the log and did not settle. Resolves when that is over. */
  private async finish(
    after: number,
    until: number,
    instance: string,
    lease: Lease,
  ): Promise<{ found: number; isDone: boolean }> {
    const unfinished = await unfinishedAfter(this.log, after, until, instance);
    const missed = unfinished.filter(({ received }) => !this.sent?.has(received.position));
    const endings = await Promise.all(
      missed.map(
        (one) =>
          new Promise<Closing>((resolve) => {
            this.sent?.add(one.received.position);
            const conversion = this.send(one, lease, (how) => {
              this.rescued.delete(conversion);
              resolve(how);
            });
            this.rescued.add(conversion);
          }),
      ),
    );
    return { found: missed.length, isDone: !endings.includes('forbidden') };
  }
}

/** Stored, and nothing known of its platforms. */
function pending({ data: { platforms = [], trial } }: ReceivedConversion): Results {
  return Object.fromEntries(platforms.map((platform) => [platform, resultOf(undefined, trial)]));
}
