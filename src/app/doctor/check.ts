import { messageOf } from '../../kernel/errors.js';
import { TimedOut, withTimeout } from '../../kernel/with-timeout.js';
import type { HoldDependencies } from '../hold-sources.js';
import type { Services } from '../services.js';

/** What the checks examine. */
export type DoctorDependencies = HoldDependencies & Pick<Services, 'secrets' | 'sealer' | 'erasureList'>;

export interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
  /** What the operator has to do. */
  readonly fix?: string;
  /** The installation works, and something needs attention. */
  readonly warning?: true;
}

export type Finding = Omit<Check, 'name'>;

export function passed(detail: string): Finding {
  return { ok: true, detail };
}

export function failed(detail: string, fix: string): Finding {
  return { ok: false, detail, fix };
}

/** `fix`: what the operator has to do unless it is ok. */
export function judged(ok: boolean, detail: string, fix: string): Finding {
  return ok ? passed(detail) : failed(detail, fix);
}

/** `withinMs`: a check that takes longer has failed. */
export async function check(
  name: string,
  examine: () => Promise<Finding>,
  withinMs = Number.POSITIVE_INFINITY,
): Promise<Check> {
  // Not even started, so that no work is left behind that no caller waits for.
  if (withinMs <= 0) return tooLong(name);
  try {
    const finding = Number.isFinite(withinMs) ? withTimeout(examine(), withinMs) : examine();
    return { name, ...(await finding) };
  } catch (error) {
    if (error instanceof TimedOut) return tooLong(name);
    return { name, ...failed(messageOf(error), 'Fix this error and run "doctor" again.') };
  }
}

function tooLong(name: string): Check {
  return { name, ...failed('the checks took too long', 'Run "doctor" on the command line, which waits for it.') };
}
