import { Injectable } from '@nestjs/common';
import type { DeliveryPlan } from '../events/conversion.events.js';
import type { LoadedSite } from '../sites/site-directory.js';
import { CrashRecovery } from './crash-recovery.js';
import { type Results, resultOf } from './delivery.js';
import type { ReceivedConversion } from './received-conversion.js';
import { SagaRunner } from './saga-runner.js';

const TICK_MS = 200;
const RECOVER_EVERY_MS = 2_000;
const STOP_WITHIN_MS = 3_000;

const NOT_CONNECTED: DeliveryPlan = {};

/** Delivers received conversions: starts a saga for each, and recovers those that a crash left unsettled. */
@Injectable()
export class DeliveryService {
  /** Every conversion of a site has the same plan until the site changes. */
  private readonly plans = new WeakMap<LoadedSite, DeliveryPlan>();
  private readonly timers: NodeJS.Timeout[] = [];
  private recovering: Promise<void> | undefined;
  private stopping = false;

  constructor(
    private readonly sagas: SagaRunner,
    private readonly recovery: CrashRecovery,
  ) {}

  /**
   * Uses its own timers: @nestjs/schedule clears intervals before HTTP has drained, while sagas still need ticks to
   * respond to senders, and recovery must not run before the instance is registered.
   */
  async start(): Promise<void> {
    await this.recovery.register();
    this.timers.push(setInterval(() => this.tick(), TICK_MS));
    this.timers.push(setInterval(() => this.recover(), RECOVER_EVERY_MS));
    this.recover();
  }

  /** Waits a moment for the deliveries in flight. Another instance recovers those that take longer. */
  async stop(): Promise<void> {
    this.stopping = true;
    const deadline = performance.now() + STOP_WITHIN_MS;
    while ((this.sagas.inFlightCount > 0 || this.recovering) && performance.now() < deadline)
      await new Promise((next) => setTimeout(next, 20));
    for (const timer of this.timers) clearInterval(timer);
    await this.recovery.stop();
  }

  /** The delivery fields of a new conversion of this site. Empty while no platform is connected. */
  planFor(site: LoadedSite): DeliveryPlan {
    if (site.connections.size === 0) return NOT_CONNECTED;
    const { instance } = this.recovery;
    const cached = this.plans.get(site);
    if (cached?.instance === instance) return cached;
    const plan = { platforms: [...site.connections.keys()], settings: site.settingsPosition, instance };
    this.plans.set(site, plan);
    return plan;
  }

  /** Delivers a stored conversion. Resolves when all results are recorded, or when the sender's deadline has passed. */
  async deliver(received: ReceivedConversion): Promise<Results> {
    const { platforms = [], instance = '' } = received.data;
    const { position } = received;
    const { lease } = this.recovery;
    if (platforms.length === 0) return {};
    if (!lease || instance !== this.recovery.instance) {
      // The lease was lost during the append. The process that takes it over next delivers the conversion.
      this.recovery.abandon(instance, position - 1);
      return pending(received);
    }
    if (!this.recovery.mayStart(position)) return pending(received);
    return this.sagas.start(received, lease, (end) => {
      if (end !== 'withdrawn') return;
      if (instance === this.recovery.instance) this.recovery.markInDoubt(position - 1);
      else this.recovery.abandon(instance, position - 1);
    });
  }

  /** An append of a conversion with platforms got no answer. If it was stored, it is delivered later. */
  appendInDoubt(): void {
    this.recovery.markInDoubt();
  }

  private tick(): void {
    this.sagas.tick();
    this.recovery.updateProgress();
  }

  private recover(): void {
    if (this.stopping) return;
    this.recovering ??= this.recovery
      .recover()
      // The database is unavailable: the next round repeats the work.
      .catch(() => {})
      .finally(() => {
        this.recovering = undefined;
      });
  }
}

/** The results of a conversion without any outcome yet. */
function pending({ data: { platforms = [], trial } }: ReceivedConversion): Results {
  return Object.fromEntries(platforms.map((platform) => [platform, resultOf(undefined, trial)]));
}
