import { shorten } from './common-verdict.js';
import type { Verdict } from './platform.js';

/** The verdict on a conversion for one of its conversion actions. */
export interface ActionVerdict {
  readonly action: string;
  readonly verdict: Verdict;
}

/** Why a conversion failed for these of its actions, and that it was delivered for the others, if there are any. */
export function failureOf(
  failures: readonly { readonly action: string; readonly reason: string }[],
  actions: number,
): string {
  const reasons = failures.map(({ action, reason }) => `${action}: ${reason}`).join('; ');
  // First, because the platform's words may be cut off.
  if (failures.length < actions) return shorten(`delivered, but not to ${reasons}`);
  const [first, ...others] = new Set(failures.map(({ reason }) => reason));
  return shorten(others.length === 0 ? (first ?? '') : reasons);
}

/**
 * One verdict on a conversion from those of its actions. Nothing is decided while one is not known. What has to be sent again is
 * sent for all of them, because the platform recognises what it has accepted.
 */
export function combineVerdicts(all: readonly ActionVerdict[]): Verdict {
  const of = <Kind extends Verdict['kind']>(kind: Kind) =>
    all.flatMap(({ action, verdict }) =>
      verdict.kind === kind ? [{ action, verdict: verdict as Extract<Verdict, { kind: Kind }> }] : [],
    );
  const retries = of('retry').map(({ verdict }) => verdict);
  const undecided = retries.find(({ afterMs }) => afterMs === undefined);
  if (undecided) return undecided;
  const [misconfigured] = of('misconfigured');
  if (misconfigured) {
    const { action, verdict } = misconfigured;
    // The platform's code stays at the start, where what a person can do is looked up by it.
    return { ...verdict, reason: shorten(all.length > 1 ? `${verdict.reason} (${action})` : verdict.reason) };
  }
  const [split] = of('split');
  if (split) return split.verdict;
  const [longest] = retries.sort((one, other) => (other.afterMs ?? 0) - (one.afterMs ?? 0));
  if (longest) return longest;
  const without = of('without').map(({ verdict }) => verdict);
  if (without[0])
    return { ...without[0], identifiers: [...new Set(without.flatMap(({ identifiers }) => identifiers))] };
  const rejections = of('rejected').map(({ action, verdict }) => ({ action, reason: verdict.reason }));
  const [only] = rejections;
  if (!only) return { kind: 'delivered' };
  return { kind: 'rejected', reason: all.length > 1 ? failureOf(rejections, all.length) : only.reason };
}
