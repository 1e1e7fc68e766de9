// Interleaves the variants (A B C A B C …), so that a change in the load of the machine affects all of them.

/**
 * @param variants `[{ id, run }]`; `run()` resolves with a sample
 * @returns samples by variant id, one per round. A failed measurement leaves an undefined sample and its reason in
 * `roundErrors`. A variant that failed in every round is in `failures`.
 */
export async function interleave(variants, rounds, progress) {
  const samples = Object.fromEntries(variants.map(({ id }) => [id, []]));
  const roundErrors = [];
  for (let round = 0; round < rounds; round++) {
    for (const { id, run } of variants) {
      progress(`round ${round + 1}/${rounds}: ${id} …`);
      try {
        samples[id][round] = await run();
      } catch (error) {
        samples[id][round] = undefined;
        roundErrors.push(`${id}, round ${round + 1} failed: ${error.message}`);
      }
    }
  }
  const failures = variants
    .filter(({ id }) => !samples[id].some(Boolean))
    .map(({ id }) => `${id}: failed in every round`);
  return { samples, roundErrors, failures };
}

/** Adds the notes, failures and samples of the rounds to the report. */
export function recordRounds({ samples, roundErrors, failures }, context) {
  context.notes.push(...roundErrors, ...errorNotes(samples), ...busyGenerator(samples));
  context.failures.push(...failures);
  context.samples = samples;
}

/** The first error of each variant. */
function errorNotes(samples) {
  return Object.entries(samples).flatMap(([id, list]) => {
    const first = list.find((sample) => sample?.errors > 0);
    return first ? [`${id}: errors, the first: ${first.stderr.replace(/\s+/g, ' ').slice(0, 200)}`] : [];
  });
}

/** A generator that uses a whole core limits the rates it measures. */
function busyGenerator(samples) {
  const share = Math.max(
    0,
    ...Object.values(samples).flatMap((list) => list.map((sample) => sample?.clientShare ?? 0)),
  );
  return share < 0.9
    ? []
    : [`the load generator used ${Math.round(share * 100)} % of a core and may have limited the rates`];
}
