import type { SandboxAnswer } from '../../src/sandbox/double.js';

/** What a double answered, as its platform would have. */
export function said(answer: SandboxAnswer) {
  return JSON.parse(answer.body);
}

/** What a double found wrong, with each conversion it was sent. */
export function problems(answer: SandboxAnswer) {
  return answer.received?.map((item) => item.problems);
}
