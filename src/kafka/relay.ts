import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import { Lease } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import type { KafkaSettings } from './client.js';
import { openRelaySession } from './open-session.js';
import type { RelaySession } from './relay-session.js';
import { RelayRefusal } from './topics.js';

const PAGE_EVENTS = 2_000;
/** Without a full page waiting, one batch in this time: under load batches grow, and a transaction is paid for by many. */
const BATCH_EVERY_MS = 500;
const LEASE_NAME = 'kafka-relay';
/** Shorter than others': Kafka itself keeps two from publishing, so all that a lost lease costs is a new start. */
const LEASE_MS = 5_000;
const LOOK_FOR_LEASE_EVERY_MS = 1_000;
const BACK_OFF_FIRST_MS = 100;
const BACK_OFF_MAX_MS = 5_000;
const REFUSED_AGAIN_AFTER_MS = 30_000;

export interface RelayState {
  /** `standby`: another instance publishes. `refused`: an operator is needed, the reason says what for. */
  readonly state: 'starting' | 'standby' | 'publishing' | 'unreachable' | 'refused';
  readonly reason?: string;
}

/**
 * Publishes the log to Kafka, in order and without a gap. One instance at a time by its lease, and one at a time for
 * certain by Kafka's fence. An outage costs nothing but delay: the log is the buffer, nothing is held in memory.
 */
export class Relay {
  current: RelayState = { state: 'starting' };
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly settings: KafkaSettings,
    private readonly logger: Logger,
  ) {}

  start(): void {
    this.running = this.run();
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.running;
  }

  private get stopped(): boolean {
    return this.stopping.signal.aborted;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      // The database is away: somebody else may have it, or nobody; it is asked again.
      const lease = await Lease.take(this.postgres.pool, LEASE_NAME, 0, LEASE_MS).catch(() => undefined);
      if (lease) {
        await this.hold(lease);
        await lease.release().catch(() => {});
      } else this.become({ state: 'standby' });
      await this.pause(LOOK_FOR_LEASE_EVERY_MS);
    }
  }

  private async hold(lease: Lease): Promise<void> {
    let backOffMs = BACK_OFF_FIRST_MS;
    while (!this.stopped && !lease.isLost) {
      let session: RelaySession | undefined;
      try {
        session = await openRelaySession(this.postgres, this.settings, this.logger);
        backOffMs = BACK_OFF_FIRST_MS;
        this.become({ state: 'publishing' });
        await this.publish(session, lease);
        return;
      } catch (error) {
        const refused = error instanceof RelayRefusal;
        this.become({ state: refused ? 'refused' : 'unreachable', reason: messageOf(error) });
        await this.pause(refused ? REFUSED_AGAIN_AFTER_MS : backOffMs);
        backOffMs = Math.min(2 * backOffMs, BACK_OFF_MAX_MS);
      } finally {
        session?.drop();
      }
    }
  }

  /** Until it is stopped or has lost its lease. Throws at the first thing that goes wrong; the next session finds out what. */
  private async publish(session: RelaySession, lease: Lease): Promise<void> {
    while (!this.stopped && !lease.isLost) {
      const startedMs = performance.now();
      const published = lease.held ? await session.publishPage(PAGE_EVENTS) : 0;
      if (published < PAGE_EVENTS) await this.pause(BATCH_EVERY_MS - (performance.now() - startedMs));
    }
  }

  private async pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => {});
  }

  /** Said once per change: an outage is two lines in the log, not thousands. */
  private become(next: RelayState): void {
    const before = this.current;
    this.current = next;
    if (before.state === next.state) return;
    if (next.state === 'publishing') this.logger.info('Publishing to Kafka');
    if (next.state === 'unreachable') {
      this.logger.warn('Kafka cannot be reached; the log keeps what is due and it is tried again', {
        reason: next.reason,
      });
    }
    if (next.state === 'refused') this.logger.error('Nothing is published to Kafka', { reason: next.reason });
  }
}
