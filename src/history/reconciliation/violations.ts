const LISTED_MAX = 5;
/** Rebuilding a projection from a changed log would make the change look right, so that is not the first thing to do. */
const LOG_ADVICE =
  'the log may have been altered: change nothing, and compare it with checkpoints kept elsewhere ("history verify --against <file>")';

export interface Finding {
  readonly ok: boolean;
  /** What was counted; if a check fails, the violations and where they are. */
  readonly detail: string;
}

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
    return { ok: false, detail: `${this.text()} (${counted})` };
  }

  /** For violations that a correct log cannot have, whatever the state of everything derived from it. */
  findingOfLog(counted: string): Finding {
    if (this.count === 0) return { ok: true, detail: counted };
    return { ok: false, detail: `${this.text()}; ${LOG_ADVICE} (${counted})` };
  }

  private text(): string {
    const more = this.count > this.listed.length ? ` and ${this.count - this.listed.length} more` : '';
    return `${this.listed.join('; ')}${more}`;
  }
}
