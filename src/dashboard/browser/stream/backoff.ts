const FIRST_MS = 1_000;
const MAX_MS = 30_000;

/** How long to wait after so many failures in a row. `random` spreads browsers that lost the service at the same moment. */
export function backoffMs(failures: number, random = Math.random()): number {
  const longest = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));
  return longest * (0.5 + random / 2);
}
