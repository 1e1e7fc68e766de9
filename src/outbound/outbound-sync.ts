import { Poller } from '../kernel/poller.js';
import type { Lease, LeaseDatabase } from '../postgres/lease.js';
import { isHeld } from '../sites/site.js';
import type { SiteDirectory } from '../sites/site-directory.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { acquirePushLeases, mayStart } from './push-lease.js';
import { webhookSecrets } from './push-request.js';
import type { Pusher, Receiver } from './pusher.js';
import { type End, nextStep } from './reporting-window.js';

/** Concurrent pushes of this process. */
const PUSHES_MAX = 256;
/** Every site is checked at least this often: another process may have pushed for it and failed. */
const CHECK_EVERY_MS = 60_000;
/** After another process holds the lease, or after an internal error. */
const RECHECK_MS = 1_000;

export interface SyncOptions {
  readonly everyMs: number;
  readonly timeoutMs: number;
  onError(site: string, error: unknown): void;
}

/**
 * Pushes the totals of every site on schedule. Any number of processes check; the one that holds the lease of a site acts for it,
 * based on the last event of the site's stream. State kept in memory only avoids needless queries.
 */
export class OutboundSync {
  private readonly inFlight = new Map<string, Promise<void>>();
  /** When to check next, by webhook object: a changed webhook is a new object and is checked at once. */
  private readonly nextCheckMs = new WeakMap<SiteWebhook, number>();
  private readonly poller = new Poller(() => this.check());
  private isBehind = false;

  constructor(
    private readonly database: LeaseDatabase,
    private readonly directory: SiteDirectory,
    private readonly secrets: SiteSecrets,
    private readonly pusher: Pusher,
    private readonly options: SyncOptions,
  ) {}

  /** Called by the scheduler. If the database is unavailable, the next check retries. */
  checkQuietly(): void {
    this.poller.poll();
  }

  /** Starts the pushes that are due, up to the concurrency limit. */
  async check(): Promise<void> {
    if (!this.directory.isFresh()) await this.directory.refresh();
    const waiting = this.waiting();
    if (waiting.length === 0) return;
    const due = await this.due(waiting);
    const room = PUSHES_MAX - this.inFlight.size;
    this.isBehind = due.length > room;
    const selected = due.slice(0, room);
    if (selected.length === 0) return;
    const leases = await acquirePushLeases(
      this.database,
      selected.map(({ site }) => site),
      this.options.timeoutMs,
    );
    const hosts = [...leases.keys()];
    // Read again under the lease: another process may have pushed between the check and the lease.
    const ends = await this.pusher.readEnds(hosts);
    const secrets = await this.secrets.connectionSecretsOf(hosts);
    for (const receiver of selected) {
      const { site, webhook } = receiver;
      const lease = leases.get(site);
      if (!lease) this.nextCheckMs.set(webhook, this.pusher.now() + RECHECK_MS);
      else {
        const decrypted = webhookSecrets(webhook, secrets.get(site)?.get('outbound'));
        this.start({ ...receiver, secrets: decrypted }, ends.get(site), lease);
      }
    }
  }

  /** Resolves when all pushes in flight have ended. */
  async settled(): Promise<void> {
    await this.poller.settled();
    while (this.inFlight.size > 0) await Promise.all(this.inFlight.values());
  }

  async stop(): Promise<void> {
    await this.poller.stop();
    await this.settled();
    await this.pusher.end();
  }

  private waiting(): Omit<Receiver, 'secrets'>[] {
    const nowMs = this.pusher.now();
    return this.directory.all().flatMap(({ site }) => {
      const { host, webhook, epoch } = site;
      if (isHeld(site) || !webhook?.enabled || this.inFlight.has(host) || (this.nextCheckMs.get(webhook) ?? 0) > nowMs)
        return [];
      return [{ site: host, webhook, hasMoved: epoch > 0 }];
    });
  }

  private async due(waiting: readonly Omit<Receiver, 'secrets'>[]) {
    const ends = await this.pusher.readEnds(waiting.map(({ site }) => site));
    return waiting.filter(({ site, webhook }) => this.isDue(webhook, ends.get(site)));
  }

  private isDue(webhook: SiteWebhook, end: End): boolean {
    const nowMs = this.pusher.now();
    const step = nextStep(webhook, end, nowMs, this.options.everyMs);
    if (step.kind !== 'wait') return true;
    this.nextCheckMs.set(webhook, Math.min(step.untilMs, nowMs + CHECK_EVERY_MS));
    return false;
  }

  private start(receiver: Receiver, end: End, lease: Lease): void {
    const { site, webhook } = receiver;
    const work = this.run(receiver, end, lease)
      .catch((error) => {
        this.nextCheckMs.set(webhook, this.pusher.now() + RECHECK_MS);
        this.options.onError(site, error);
      })
      .finally(async () => {
        // If the database is unavailable, the lease expires.
        await lease.release().catch(() => {});
        this.inFlight.delete(site);
        if (this.isBehind) this.checkQuietly();
      });
    this.inFlight.set(site, work);
  }

  /** Also between steps: a backlog of windows takes long. */
  private isHeld(host: string): boolean {
    const found = this.directory.find(host);
    return found !== undefined && isHeld(found.site);
  }

  /** Runs step after step while one is due: after a delayed window the next one may be due already. */
  private async run(receiver: Receiver, from: End, lease: Lease): Promise<void> {
    for (let end = from; mayStart(lease) && !this.poller.isStopping && !this.isHeld(receiver.site); ) {
      const step = nextStep(receiver.webhook, end, this.pusher.now(), this.options.everyMs);
      if (step.kind === 'wait') return;
      const next =
        step.kind === 'close'
          ? await this.pusher.close(receiver, end)
          : await this.pusher.push(receiver, step.window, end, lease);
      // After a failure nothing is due, and this process may not know yet whether the webhook was disabled.
      if (!next || next.type === 'outbound.failed.v1') return;
      end = next;
    }
  }
}
