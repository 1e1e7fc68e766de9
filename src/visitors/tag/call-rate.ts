import { networkOf } from '../../kernel/addresses.js';

const PRUNE_EVERY_MS = 10_000;
/** At this number new callers are rejected until full buckets are pruned, so a flood of addresses uses bounded memory. */
const CALLERS_MAX = 100_000;

interface Bucket {
  tokens: number;
  updatedMs: number;
}

/** Token buckets per site and client network: for calls, or for what they store. */
export class CallRate {
  private readonly buckets = new Map<string, Bucket>();
  private prunedMs = 0;

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
  ) {}

  /** Takes tokens from the caller's bucket. Returns 0, or the seconds until it has enough. */
  take(site: string, address: string | undefined, nowMs: number, tokens = 1): number {
    if (nowMs - this.prunedMs > PRUNE_EVERY_MS) this.pruneFull(nowMs);
    const key = `${site} ${networkOf(address)}`;
    const bucket = this.buckets.get(key) ?? { tokens: this.burst, updatedMs: nowMs };
    if (!this.buckets.has(key)) {
      if (this.buckets.size >= CALLERS_MAX) return PRUNE_EVERY_MS / 1_000;
      this.buckets.set(key, bucket);
    }
    bucket.tokens = this.tokensIn(bucket, nowMs);
    bucket.updatedMs = nowMs;
    if (bucket.tokens < tokens) return (tokens - bucket.tokens) / this.perSecond;
    bucket.tokens -= tokens;
    return 0;
  }

  private tokensIn({ tokens, updatedMs }: Bucket, nowMs: number): number {
    return Math.min(this.burst, tokens + ((nowMs - updatedMs) / 1_000) * this.perSecond);
  }

  /** A new bucket would be the same. */
  private pruneFull(nowMs: number): void {
    this.prunedMs = nowMs;
    for (const [key, bucket] of this.buckets) if (this.tokensIn(bucket, nowMs) >= this.burst) this.buckets.delete(key);
  }
}
