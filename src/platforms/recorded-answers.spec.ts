import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answer, verdictLabel } from '../../test/support/platform-answers.js';
import { verdictOfOne } from './common-verdict.js';
import { PLATFORMS } from './index.js';
import type { Platform, Verdict } from './platform.js';

/** An error answer of a platform as its documentation or a public connector records it. */
interface RecordedAnswer {
  readonly answer: string;
  readonly source: string;
  /** The request that was answered, if it is not the one with the conversion. */
  readonly to?: 'confirmation' | 'test';
  readonly status: number;
  readonly body: unknown;
  readonly verdict: string;
}

const VERDICTS = [
  ...['delivered', 'rejected', 'throttled', 'server_error', 'unauthorized', 'misconfigured', 'without', 'gone'],
];

function recordedAnswers({ name }: Platform): readonly RecordedAnswer[] {
  return JSON.parse(readFileSync(join(process.cwd(), 'src/platforms', name, 'fixtures/answers.json'), 'utf8'));
}

function verdictOn(platform: Platform, { to, status, body }: RecordedAnswer): Verdict | undefined {
  const response = answer(status, body);
  if (to === 'confirmation') return platform.confirmation?.verdict(response);
  if (to === 'test') {
    const call = { connection: { settings: {}, secrets: {} }, nowMs: 0 };
    return platform.test?.('{}', call)?.verdict(response);
  }
  return verdictOfOne(platform.verdict(response, 1), response);
}

describe.each(PLATFORMS)('$name, with the error answers recorded in its fixtures', (platform) => {
  const recorded = recordedAnswers(platform);

  it('has an expected verdict and a source for each answer, and each answer once', () => {
    expect(recorded.length).toBeGreaterThan(0);
    for (const { answer, source, verdict } of recorded)
      expect([answer, source !== '', VERDICTS.includes(verdict)]).toEqual([answer, true, true]);
    const contents = recorded.map(({ to, status, body }) => JSON.stringify([to, status, body]));
    expect(new Set(contents).size).toBe(contents.length);
  });

  it.each(recorded)('reads $answer as $verdict', (one) => {
    const verdict = verdictOn(platform, one);
    expect(verdict && verdictLabel(verdict)).toBe(one.verdict);
  });
});
