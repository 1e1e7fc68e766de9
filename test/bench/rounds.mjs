// The interleaving: A B C A B C …, so that what a shared machine does at one time of the run falls on every variant.

/**
 * @param variants `[{ id, run }]`; `run()` resolves with a sample
 * @returns samples by variant id, one place per round. A stretch that failed leaves its place empty and its reason in
 * `setbacks`; a variant of which nothing was measured at all is in `failures`.
 */
export async function interleave(variants, rounds, progress) {
  const samples = Object.fromEntries(variants.map(({ id }) => [id, []]));
  const setbacks = [];
  for (let round = 0; round < rounds; round++) {
    for (const { id, run } of variants) {
      progress(`round ${round + 1}/${rounds}: ${id} …`);
      try {
        samples[id][round] = await run();
      } catch (error) {
        samples[id][round] = undefined;
        setbacks.push(`${id}, round ${round + 1} failed: ${error.message}`);
      }
    }
  }
  const failures = variants
    .filter(({ id }) => !samples[id].some(Boolean))
    .map(({ id }) => `${id}: not measured at all`);
  return { samples, setbacks, failures };
}
