import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../kernel/errors.js';
import type { Logger } from '../kernel/logger.js';
import type { Settings } from '../kernel/settings/settings.js';
import type { RecentEvents } from '../log/recent-events.js';
import { Lease } from '../postgres/lease.js';
import type { Postgres } from '../postgres/postgres.js';
import type { KafkaSettings } from './kafka-settings.js';
import { openRelaySession } from './open-session.js';
import type { RelaySession } from './relay-session.js';
import { RelayRefusedError } from './topics.js';

const PAGE_EVENTS = 2_000;
const LEASE_NAME = 'kafka-relay';
/** Shorter than other leases: Kafka's fencing prevents concurrent publishing, so a lost lease only costs a restart. */
const LEASE_MS = 5_000;
const LEASE_POLL_MS = 1_000;
const BACK_OFF_FIRST_MS = 100;
const BACK_OFF_MAX_MS = 5_000;
export const REFUSED_RETRY_MS = 30_000;

export interface RelayState {
  /** `standby`: another instance publishes. `refused`: an operator must act; the reason states how. */
  readonly state: 'starting' | 'standby' | 'publishing' | 'unreachable' | 'refused';
  readonly reason?: string;
}

/**
 * Publishes the log to Kafka, in order and without gaps. The lease selects one instance, and Kafka's fencing guarantees
 * that only one can publish. An outage only delays events: the log is the buffer, nothing is queued in memory.
 */
export class Relay {
  current: RelayState = { state: 'starting' };
  private readonly stopping = new AbortController();
  private running: Promise<void> | undefined;

  constructor(
    private readonly postgres: Postgres,
    private readonly settings: KafkaSettings & Pick<Settings, 'intervals'>,
    private readonly logger: Logger,
    private readonly recent?: RecentEvents,
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
      // If the database is unavailable, the holder is unknown. The next round asks again.
      const lease = await Lease.take(this.postgres, LEASE_NAME, 0, LEASE_MS).catch(() => undefined);
      if (lease) {
        await this.publishWithLease(lease);
        await lease.release().catch(() => {});
      } else this.setState({ state: 'standby' });
      await this.pause(LEASE_POLL_MS);
    }
  }

  private async publishWithLease(lease: Lease): Promise<void> {
    let backOffMs = BACK_OFF_FIRST_MS;
    while (!this.stopped && !lease.isLost) {
      let session: RelaySession | undefined;
      try {
        const wasRefused = this.current.state === 'refused';
        session = await openRelaySession(this.postgres, this.settings, this.logger, this.recent, wasRefused);
        backOffMs = BACK_OFF_FIRST_MS;
        this.setState({ state: 'publishing' });
        await this.publish(session, lease);
        return;
      } catch (error) {
        const isRefused = error instanceof RelayRefusedError;
        this.setState({ state: isRefused ? 'refused' : 'unreachable', reason: messageOf(error) });
        await this.pause(isRefused ? REFUSED_RETRY_MS : backOffMs);
        backOffMs = Math.min(2 * backOffMs, BACK_OFF_MAX_MS);
      } finally {
        session?.close();
      }
    }
  }

  /** Publishes until stopped or until the lease is lost. Throws on the first failure; the next session rereads the topics. */
  private async publish(session: RelaySession, lease: Lease): Promise<void> {
    while (!this.stopped && !lease.isLost) {
      const startedMs = performance.now();
      const published = lease.held ? await session.publishPage(PAGE_EVENTS) : 0;
      if (published < PAGE_EVENTS) await this.pause(this.settings.intervals.relayMs - (performance.now() - startedMs));
    }
  }

  private async pause(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.stopping.signal }).catch(() => {});
  }

  /** Logs state changes only, so that an outage writes two log lines and not thousands. */
  private setState(next: RelayState): void {
    const previous = this.current;
    this.current = next;
    if (previous.state === next.state) return;
    if (next.state === 'publishing') this.logger.info('Publishing to Kafka');
    if (next.state === 'unreachable') {
      this.logger.warn('Kafka is unreachable; retrying. Unpublished events stay in the log', {
        reason: next.reason,
      });
    }
    if (next.state === 'refused')
      this.logger.error('Publishing to Kafka is suspended: operator action required', { reason: next.reason });
  }
}
