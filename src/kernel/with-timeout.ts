/** The work did not end in time. It may still end later. */
export class TimedOut extends Error {
  override readonly name = 'TimedOut';
}

/** Rejects with `TimedOut` if the work takes longer. */
export async function withTimeout<Result>(work: Promise<Result>, ms: number): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimedOut(`No result within ${ms} ms`)), ms);
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    clearTimeout(timer);
  }
}
