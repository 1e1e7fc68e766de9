import { setTimeout as sleep } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';

/** A condition, the answer itself, or the fields that it must have. */
type Expected<Answer> = ((answer: Answer) => boolean) | Fields<Answer>;

type Fields<Answer> = Answer extends readonly unknown[]
  ? { readonly length: number }
  : Answer extends object
    ? { readonly [Name in keyof Answer]?: Answer[Name] | undefined }
    : Answer;

/** Polls until the answer is the expected one. Fails when a poll that began after `withinMs` still returns another. */
export async function eventually<Answer>(
  poll: () => Answer | Promise<Answer>,
  expected: Expected<NoInfer<Answer>>,
  { withinMs = 120_000, everyMs = 10 } = {},
): Promise<Answer> {
  const beganMs = performance.now();
  for (;;) {
    const afterMs = performance.now() - beganMs;
    const answer = await poll();
    if (isExpected(answer, expected)) return answer;
    if (afterMs > withinMs) throw new Error(`Still ${JSON.stringify(answer)} after ${Math.round(afterMs)} ms`);
    await sleep(everyMs);
  }
}

function isExpected(answer: unknown, expected: unknown): boolean {
  if (typeof expected === 'function') return expected(answer);
  if (typeof expected !== 'object' || expected === null) return answer === expected;
  const fields = (answer ?? {}) as Record<string, unknown>;
  return Object.entries(expected).every(([name, value]) => isDeepStrictEqual(fields[name], value));
}

/** Runs `work` on all tasks, at most `workers` at a time. Results are in the order of the tasks. */
export async function runConcurrently<Task, Result>(
  workers: number,
  tasks: readonly Task[],
  work: (task: Task, index: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  let next = 0;
  const worker = async () => {
    while (next < tasks.length) {
      const index = next++;
      results[index] = await work(tasks[index] as Task, index);
    }
  };
  await Promise.all(Array.from({ length: workers }, worker));
  return results;
}
