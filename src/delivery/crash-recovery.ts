import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Logger } from '../kernel/logger.js';
import { EventLog } from '../log/event-log.js';
import { ProjectionRunner } from '../log/projection-runner.js';
import { Lease } from '../postgres/lease.js';
import { Postgres } from '../postgres/postgres.js';
import { SagaRunner } from './saga-runner.js';
import { findUnsettled } from './unsettled.js';

const LEASE_PREFIX = 'instance:';
/** An append that was given up may still commit this much later. */
const IN_DOUBT_MS = 5_000;

/**
 * Delivers conversions that a crash left unsettled. Each process holds a lease on an instance id, which it writes into
 * every conversion it receives. The lease stores the position up to which the instance has settled everything, so an
 * instance that takes over an expired lease reads the log from there and needs no row per conversion in flight:
 * `docs/decisions/0006-no-row-per-conversion-in-flight.md`.
 */
@Injectable()
export class CrashRecovery {
  private instanceId = '';
  private instanceLease: Lease | undefined;
  /** An append after this position is in doubt: it may have been stored although it got no answer. */
  private inDoubtAfter: number | undefined;
  private inDoubtSince = 0;
  /** During a check of appends in doubt: positions whose delivery has started, so that none starts twice. */
  private started: Set<number> | undefined;
  /** Lost instance ids of this process, and the position after which it leaves conversions under them to others. */
  private readonly abandoned = new Map<string, number>();

  constructor(
    private readonly postgres: Postgres,
    private readonly log: EventLog,
    private readonly projections: ProjectionRunner,
    private readonly sagas: SagaRunner,
    private readonly logger: Logger,
  ) {}

  get instance(): string {
    return this.instanceId;
  }

  /** Undefined while this process has none. */
  get lease(): Lease | undefined {
    return this.instanceLease;
  }

  /** Takes a lease on a new instance id. */
  async register(): Promise<void> {
    const instance = randomBytes(6).toString('hex');
    const head = await this.log.head();
    const lease = await Lease.take(this.postgres.pool, LEASE_PREFIX + instance, head);
    this.sagas.beginAfter(head);
    this.inDoubtAfter = undefined;
    this.instanceId = instance;
    this.instanceLease = lease;
  }

  /** Publishes the settled position with the next renewal of the lease. */
  updateProgress(): void {
    if (this.instanceLease) this.instanceLease.reached = this.settledUpTo;
  }

  /** A conversion after this position may be stored and have no saga. The log is checked once the append can no longer commit. */
  markInDoubt(after = this.settledUpTo): void {
    this.inDoubtAfter = Math.min(this.inDoubtAfter ?? after, after);
    this.inDoubtSince = performance.now();
  }

  /** Leaves the conversions of an instance after this position to the next process that takes over its lease. */
  abandon(instance: string, after: number): void {
    this.abandoned.set(instance, Math.min(this.abandoned.get(instance) ?? after, after));
  }

  /** False if a check of appends in doubt has already started the delivery of the conversion at this position. */
  mayStart(position: number): boolean {
    if (this.started?.has(position)) return false;
    this.started?.add(position);
    return true;
  }

  /** One round: registers again after a lost lease, checks appends in doubt and takes over expired leases. */
  async recover(): Promise<void> {
    if (this.instanceLease?.isLost) this.handleLostLease();
    if (!this.instanceLease) await this.register();
    await this.storeAbandoned();
    await this.checkInDoubt();
    for (const name of await Lease.expired(this.postgres.pool, LEASE_PREFIX)) {
      // Its own lease is about to be renewed.
      if (name !== this.instanceLease?.name) await this.takeOver(name);
    }
  }

  /** Gives up the lease. Another instance takes over what is unsettled. */
  async stop(): Promise<void> {
    // If the database is unavailable, the leases expire.
    await this.storeAbandoned().catch(() => {});
    const lease = this.instanceLease;
    if (!lease) return;
    lease.reached = this.settledUpTo;
    const isSettled = this.sagas.inFlightCount === 0 && this.inDoubtAfter === undefined;
    await (isSettled ? this.endLease(lease) : lease.release()).catch(() => {});
  }

  private get settledUpTo(): number {
    return Math.min(this.sagas.settledUpTo, this.inDoubtAfter ?? Number.POSITIVE_INFINITY);
  }

  /** Another process considers this one dead and takes over its conversions. Continue under a new instance id. */
  private handleLostLease(): void {
    this.logger.warn('This process lost its lease because it was frozen or disconnected; continuing under a new one');
    // The process that took over may have read the log before the last conversions were stored.
    this.abandon(this.instanceId, this.settledUpTo);
    this.instanceLease = undefined;
    this.inDoubtAfter = undefined;
    this.sagas.detach();
  }

  private async storeAbandoned(): Promise<void> {
    for (const [instance, after] of this.abandoned) {
      await Lease.createExpired(this.postgres.pool, LEASE_PREFIX + instance, after);
      if (this.abandoned.get(instance) === after) this.abandoned.delete(instance);
    }
  }

  private async checkInDoubt(): Promise<void> {
    const { instanceLease: lease, inDoubtAfter, inDoubtSince } = this;
    if (!lease?.held || inDoubtAfter === undefined || performance.now() - inDoubtSince < IN_DOUBT_MS) return;
    this.started = new Set(this.sagas.positionsInFlight());
    try {
      const { isSettled } = await this.recoverRange(inDoubtAfter, await this.log.head(), this.instanceId, lease);
      // An append that was marked in doubt meanwhile is checked in a later round.
      if (isSettled && this.inDoubtSince === inDoubtSince) this.inDoubtAfter = undefined;
    } finally {
      this.started = undefined;
    }
  }

  private async takeOver(name: string): Promise<void> {
    const lease = await Lease.take(this.postgres.pool, name);
    if (!lease) return;
    try {
      const until = await this.log.head();
      const instance = name.slice(LEASE_PREFIX.length);
      const { found, isSettled } = await this.recoverRange(lease.reached, until, instance, lease);
      if (found > 0) this.logger.warn(`Took over ${found} unsettled conversions of another process`);
      if (!isSettled) return await lease.release();
      lease.reached = until;
      await this.endLease(lease);
    } catch (error) {
      await lease.release().catch(() => {});
      throw error;
    }
  }

  /** Delivers what an instance received in a position range and did not settle. Resolves when all sagas have ended. */
  private async recoverRange(
    after: number,
    until: number,
    instance: string,
    lease: Lease,
  ): Promise<{ found: number; isSettled: boolean }> {
    const unsettled = await findUnsettled(this.log, after, until, instance);
    const missed = unsettled.filter(({ received }) => this.mayStart(received.position));
    const ends = await Promise.all(missed.map((conversion) => this.sagas.recover(conversion, lease)));
    return { found: missed.length, isSettled: !ends.includes('withdrawn') };
  }

  /**
   * Delivery leases end with the instance lease of their holder. The projection must have folded the outcomes by then,
   * or another instance would repeat attempts that are already recorded.
   */
  private async endLease(lease: Lease): Promise<void> {
    try {
      await this.projections.catchUp('deliveries');
    } catch {
      return lease.release();
    }
    await lease.end();
  }
}
