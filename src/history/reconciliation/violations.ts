import type { Finding } from '../verify.js';

const LISTED_MAX = 5;

/** Collects the violations of one check: counts all and lists the first few. */
export class Violations {
  private readonly listed: string[] = [];
  private count = 0;

  add(violation: string): void {
    this.count += 1;
    if (this.listed.length < LISTED_MAX) this.listed.push(violation);
  }

  finding(counted: string): Finding {
    if (this.count === 0) return { ok: true, detail: counted };
    const more = this.count > this.listed.length ? ` and ${this.count - this.listed.length} more` : '';
    return { ok: false, detail: `${this.listed.join('; ')}${more} (${counted})` };
  }
}
