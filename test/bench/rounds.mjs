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

/** What the rounds brought to light, for the report. */
export function takeDown({ samples, setbacks, failures }, context) {
  context.notes.push(...setbacks, ...errorNotes(samples), ...busyGenerator(samples));
  context.failures.push(...failures);
  context.samples = samples;
}

/** The first thing that went wrong in each variant, in its own words. */
function errorNotes(samples) {
  return Object.entries(samples).flatMap(([id, list]) => {
    const first = list.find((sample) => sample?.errors > 0);
    return first ? [`${id}: errors, the first: ${first.said.replace(/\s+/g, ' ').slice(0, 200)}`] : [];
  });
}

/** A generator that has no time left measures itself. */
function busyGenerator(samples) {
  const share = Math.max(
    0,
    ...Object.values(samples).flatMap((list) => list.map((sample) => sample?.clientShare ?? 0)),
  );
  return share < 0.9
    ? []
    : [`the load generator took ${Math.round(share * 100)} % of a core: it may have been the limit`];
}
