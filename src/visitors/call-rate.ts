import { networkOf } from '../kernel/addresses.js';

const PRUNE_EVERY_MS = 10_000;
/** At this number new callers are rejected until idle ones are pruned, so a flood of addresses uses bounded memory. */
const CALLERS_MAX = 100_000;

interface Bucket {
  tokens: number;
  updatedMs: number;
}

/** Token-bucket rate limit of the tag's endpoints, per site and client network. */
export class CallRate {
  private readonly buckets = new Map<string, Bucket>();
  private prunedMs = 0;

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
  ) {}

  /** Takes a token from the caller's bucket; false when it is empty. */
  allows(site: string, address: string | undefined, nowMs: number): boolean {
    if (nowMs - this.prunedMs > PRUNE_EVERY_MS) this.pruneIdle(nowMs);
    const key = `${site} ${networkOf(address)}`;
    const bucket = this.buckets.get(key);
    if (!bucket) {
      if (this.buckets.size >= CALLERS_MAX) return false;
      this.buckets.set(key, { tokens: this.burst - 1, updatedMs: nowMs });
      return true;
    }
    const tokens = Math.min(this.burst, bucket.tokens + ((nowMs - bucket.updatedMs) / 1_000) * this.perSecond);
    bucket.updatedMs = nowMs;
    bucket.tokens = tokens < 1 ? tokens : tokens - 1;
    return tokens >= 1;
  }

  /** Removes buckets that have refilled: a new one would be the same. */
  private pruneIdle(nowMs: number): void {
    this.prunedMs = nowMs;
    const refillMs = (this.burst / this.perSecond) * 1_000;
    for (const [key, { updatedMs }] of this.buckets) if (nowMs - updatedMs > refillMs) this.buckets.delete(key);
  }
}
