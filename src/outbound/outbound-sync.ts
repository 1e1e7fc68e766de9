import type { Pool } from 'pg';
import type { SiteDirectory } from '../sites/site-directory.js';
import type { SiteSecrets } from '../sites/site-secrets.js';
import type { SiteWebhook } from '../sites/webhook.js';
import { type Claim, claimSites } from './claims.js';
import { webhookSecrets } from './push-request.js';
import type { Pusher, Receiver } from './pusher.js';
import { type End, nextStep } from './reporting-window.js';

/** Pushes under way at a time, of this process. */
const AT_ONCE = 256;
/** A site is looked at that often whatever was known of it: another process may have pushed for it, and failed. */
const LOOK_AGAIN_MS = 60_000;
/** Somebody else is at it, or something went wrong on our side. */
const SOON_MS = 1_000;

export interface SyncOptions {
  readonly everyMs: number;
  readonly timeoutMs: number;
  fault(site: string, error: unknown): void;
}

/**
 * Pushes every site's totals at its time. Any number of processes look; the one that has the claim on a site acts for
 * it, on what the end of the site's stream says then. What is known in between serves only not to ask in vain.
 */
export class OutboundSync {
  private readonly underWay = new Map<string, Promise<void>>();
  /** When to look next. By the webhook as it is: one that was changed is another one, and looked at at once. */
  private readonly looks = new WeakMap<SiteWebhook, number>();
  private looking: Promise<void> | undefined;
  private isBehind = false;
  private stopping = false;

  constructor(
    private readonly pool: Pool,
    private readonly directory: SiteDirectory,
    private readonly secrets: SiteSecrets,
    private readonly pusher: Pusher,
    private readonly options: SyncOptions,
  ) {}

  /** The alarm clock rings. The database being away is no trouble: the next look finds what this one could not. */
  lookQuietly(): void {
    if (this.stopping) return;
    this.looking ??= this.look()
      .catch(() => {})
      .finally(() => {
        this.looking = undefined;
      });
  }

  /** Begins what is due and what there is room for. */
  async look(): Promise<void> {
    if (!this.directory.isFresh()) await this.directory.refresh();
    const waiting = this.waiting();
    if (waiting.length === 0) return;
    const due = await this.due(waiting);
    const room = AT_ONCE - this.underWay.size;
    this.isBehind = due.length > room;
    const taken = due.slice(0, room);
    if (taken.length === 0) return;
    const claims = await claimSites(
      this.pool,
      taken.map(({ site }) => site),
      this.options.timeoutMs,
    );
    const hosts = [...claims.keys()];
    // Asked again under the claim: somebody may have done it all between the look and the claim.
    const ends = await this.pusher.readEnds(hosts);
    const secrets = await this.secrets.connectionSecretsOf(hosts);
    for (const { site, webhook } of taken) {
      const claim = claims.get(site);
      if (!claim) this.looks.set(webhook, this.pusher.now() + SOON_MS);
      else {
        const opened = webhookSecrets(secrets.get(site)?.get('outbound'));
        this.begin({ site, webhook, secrets: opened }, ends.get(site), claim);
      }
    }
  }

  /** Everything that was begun is over. */
  async settled(): Promise<void> {
    await this.looking;
    while (this.underWay.size > 0) await Promise.all(this.underWay.values());
  }

  async stop(): Promise<void> {
    this.stopping = true;
    await this.settled();
    await this.pusher.end();
  }

  private waiting(): { site: string; webhook: SiteWebhook }[] {
    const nowMs = this.pusher.now();
    return this.directory.all().flatMap(({ site: { host, webhook } }) => {
      if (!webhook?.enabled || this.underWay.has(host) || (this.looks.get(webhook) ?? 0) > nowMs) return [];
      return [{ site: host, webhook }];
    });
  }

  private async due(waiting: readonly { site: string; webhook: SiteWebhook }[]) {
    const ends = await this.pusher.readEnds(waiting.map(({ site }) => site));
    return waiting.filter(({ site, webhook }) => this.isDue(webhook, ends.get(site)));
  }

  private isDue(webhook: SiteWebhook, end: End): boolean {
    const nowMs = this.pusher.now();
    const step = nextStep(webhook, end, nowMs, this.options.everyMs);
    if (step.kind !== 'wait') return true;
    this.looks.set(webhook, Math.min(step.untilMs, nowMs + LOOK_AGAIN_MS));
    return false;
  }

  private begin(receiver: Receiver, end: End, claim: Claim): void {
    const { site, webhook } = receiver;
    const work = this.work(receiver, end, claim)
      .catch((error) => {
        this.looks.set(webhook, this.pusher.now() + SOON_MS);
        this.options.fault(site, error);
      })
      .finally(async () => {
        // Should the database be away, the claim ends by itself.
        await claim.release().catch(() => {});
        this.underWay.delete(site);
        if (this.isBehind) this.lookQuietly();
      });
    this.underWay.set(site, work);
  }

  /** Step by step, as long as there is one to take: after a stretch that was held up, the next one may be due already. */
  private async work(receiver: Receiver, begin: End, claim: Claim): Promise<void> {
    for (let end = begin; claim.mayBegin && !this.stopping; ) {
      const step = nextStep(receiver.webhook, end, this.pusher.now(), this.options.everyMs);
      if (step.kind === 'wait') return;
      const next =
        step.kind === 'close'
          ? await this.pusher.close(receiver, end)
          : await this.pusher.send(receiver, step.stretch, end, claim);
      // After a failure nothing is due, and whether it disabled the webhook is not known here yet.
      if (!next || next.type === 'outbound.failed.v1') return;
      end = next;
    }
  }
}
