import type { Finding } from '../verify.js';

const NAMED_MAX = 5;

/** Collects what is wrong with a book: all of it is counted, the first few are named. */
export class Wrongs {
  private readonly named: string[] = [];
  private count = 0;

  add(what: string): void {
    this.count += 1;
    if (this.named.length < NAMED_MAX) this.named.push(what);
  }

  finding(counted: string): Finding {
    if (this.count === 0) return { ok: true, detail: counted };
    const more = this.count > this.named.length ? ` and ${this.count - this.named.length} more` : '';
    return { ok: false, detail: `${this.named.join('; ')}${more} (${counted})` };
  }
}
