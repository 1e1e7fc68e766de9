import ipaddr from 'ipaddr.js';

const FORGET_EVERY_MS = 10_000;
/** Beyond it nobody new is let in until some have been forgotten: a flood of addresses costs no more memory than that. */
const CALLERS_MAX = 100_000;

interface Caller {
  left: number;
  atMs: number;
}

/** How often one address may call one site's tag: so many a second, and a burst of some more. */
export class CallRate {
  private readonly callers = new Map<string, Caller>();
  private forgottenMs = 0;

  constructor(
    private readonly perSecond: number,
    private readonly burst: number,
  ) {}

  /** Takes one of what the caller has left; false when that is nothing. */
  allows(site: string, address: string | undefined, nowMs: number): boolean {
    if (nowMs - this.forgottenMs > FORGET_EVERY_MS) this.forgetTheQuiet(nowMs);
    const key = `${site} ${networkOf(address)}`;
    const caller = this.callers.get(key);
    if (!caller) {
      if (this.callers.size >= CALLERS_MAX) return false;
      this.callers.set(key, { left: this.burst - 1, atMs: nowMs });
      return true;
    }
    const left = Math.min(this.burst, caller.left + ((nowMs - caller.atMs) / 1_000) * this.perSecond);
    caller.atMs = nowMs;
    caller.left = left < 1 ? left : left - 1;
    return left >= 1;
  }

  /** Whoever would have all of his burst again is as good as unknown. */
  private forgetTheQuiet(nowMs: number): void {
    this.forgottenMs = nowMs;
    const fullAfterMs = (this.burst / this.perSecond) * 1_000;
    for (const [key, { atMs }] of this.callers) if (nowMs - atMs > fullAfterMs) this.callers.delete(key);
  }
}

/** An IPv6 customer has a whole network of addresses to call from. */
function networkOf(address: string | undefined): string {
  if (address === undefined || !address.includes(':') || !ipaddr.isValid(address)) return address ?? '';
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return (parsed as ipaddr.IPv6).parts.slice(0, 4).join(':');
}
