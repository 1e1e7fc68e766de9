import { Poller } from '../../kernel/poller.js';
import { Lease } from '../../postgres/lease.js';
import type { Postgres } from '../../postgres/postgres.js';
import { changesOf, type Observation } from './alert-state.js';
import type { AlertStore, DueMessage } from './alert-store.js';
import type { AlertChannel } from './channel.js';
import type { SendVerdict } from './send-message.js';

const LEASE = 'alerts';
/** From taking the lease to the start of the last attempt under it. */
const START_WITHIN_MS = 20_000;
/** From the end of an attempt until it is recorded. */
const RECORD_WITHIN_MS = 10_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Waits after failures; the last one repeats. */
const RETRIES_MS = [MINUTE_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, 30 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS];
/** A message that was not delivered by then is given up. */
export const GIVE_UP_MS = 24 * HOUR_MS;

export interface AlertWatchOptions {
  readonly everyMs: number;
  readonly holdMs: number;
  /** The longest that an attempt takes. */
  readonly attemptMs: number;
  channels(): Promise<AlertChannel[]>;
  observe(nowMs: number): Promise<Pick<Observation, 'items' | 'isUnknown'>>;
  send(channel: AlertChannel, message: DueMessage, mayGo: () => boolean): Promise<SendVerdict | undefined>;
  onError(error: unknown): void;
}

/** Tells channels what begins and ends to need attention. Every instance looks; the one that gets the lease acts. */
export class AlertWatch {
  private readonly poller = new Poller(() => this.check().catch((error: unknown) => this.options.onError(error)));

  constructor(
    private readonly postgres: Pick<Postgres, 'pool' | 'clock'>,
    private readonly store: AlertStore,
    private readonly options: AlertWatchOptions,
  ) {}

  start(): void {
    this.poller.start(this.options.everyMs);
  }

  async stop(): Promise<void> {
    await this.poller.stop();
  }

  /** Does nothing while there is no channel: nothing is computed that no one is told of. */
  async check(): Promise<void> {
    const { clock } = this.postgres;
    const channels = (await this.options.channels()).filter(({ paused }) => !paused);
    if (channels.length === 0 || clock.refusal() !== undefined) return;
    const leaseMs = START_WITHIN_MS + this.options.attemptMs + RECORD_WITHIN_MS;
    const lease = (await Lease.takeOnce(this.postgres, [LEASE], leaseMs)).get(LEASE);
    if (!lease) return;
    try {
      const nowMs = clock.nowMs();
      const { holdMs } = this.options;
      const open = await this.store.open();
      const observation = { nowMs, holdMs, ...(await this.options.observe(nowMs)) };
      if (!mayStart(lease)) return;
      await this.store.apply(changesOf(open, observation), channels, nowMs);
      await this.sendDue(channels, lease);
    } finally {
      // If the database is unavailable, the lease expires.
      await lease.release().catch(() => {});
    }
  }

  /** In order for each channel: the end of an alert does not arrive before its start. */
  private async sendDue(channels: readonly AlertChannel[], lease: Lease): Promise<void> {
    for (let left = channels; left.length > 0 && mayStart(lease) && !this.poller.isStopping; ) {
      const due = await this.store.due(
        left.map(({ id }) => id),
        this.postgres.clock.nowMs(),
        GIVE_UP_MS,
      );
      const delivered = await Promise.all(
        due.map(async (message) => {
          const channel = left.find(({ id }) => id === message.channel) as AlertChannel;
          return (await this.attempt(channel, message, lease)) ? [channel] : [];
        }),
      );
      left = delivered.flat();
    }
  }

  /** Whether the next message may follow. */
  private async attempt(channel: AlertChannel, message: DueMessage, lease: Lease): Promise<boolean> {
    const mayGo = () => mayStart(lease);
    if (!mayGo()) return false;
    const verdict = await this.options
      .send(channel, message, mayGo)
      .catch((error: unknown): SendVerdict | undefined => {
        this.options.onError(error);
        return { accepted: false, reason: 'internal error, see the log of the service' };
      });
    // Nothing was sent because the lease had ended: not an attempt.
    if (!verdict) return false;
    const nowMs = this.postgres.clock.nowMs();
    if (verdict.accepted) {
      await this.store.settle(message.id, true, undefined, nowMs);
      return true;
    }
    if (nowMs - message.createdMs >= GIVE_UP_MS) {
      await this.store.settle(message.id, false, verdict.reason, nowMs);
      return true;
    }
    const waitMs = RETRIES_MS[Math.min(message.attempts, RETRIES_MS.length - 1)] as number;
    const retryMs = nowMs + Math.max(waitMs, verdict.afterMs ?? 0);
    await this.store.postpone(message.id, Math.min(retryMs, message.createdMs + GIVE_UP_MS), verdict.reason);
    return false;
  }
}

/** A process that was frozen finds that it may not. */
function mayStart({ ageMs }: Lease): boolean {
  return ageMs < START_WITHIN_MS;
}
