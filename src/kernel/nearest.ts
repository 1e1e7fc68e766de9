/** The candidate that the word was probably meant to be; undefined if none is similar. */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(2, Math.floor(word.length * 0.45)) + 1;
  for (const candidate of candidates) {
    const distance = candidate.startsWith(word) && word !== '' ? 1 : editDistance(word, candidate);
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return best;
}

/** Levenshtein distance: inserted, removed and replaced characters. */
export function editDistance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at += 1) {
    const next = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const replaced = (row[to - 1] as number) + (one[at - 1] === other[to - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[to] as number) + 1, (next[to - 1] as number) + 1));
    }
    row = next;
  }
  return row[other.length] as number;
}
