import { useEffect } from 'preact/hooks';
import { reachability } from '../api.js';
import type { Problem } from '../problem.js';

/** Loads again as soon as the service answers, if the problem was that it did not. */
export function useRecovery(problem: Problem | undefined, reload: () => void): void {
  const isOwed = problem?.status === 0;
  useEffect(() => {
    if (!isOwed) return;
    return reachability.watch(() => reachability.isReachable && reload());
  }, [isOwed, reload]);
}
