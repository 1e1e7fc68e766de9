import { runCli } from '../../src/cli/run-cli.js';
import { Collector } from './collector.js';
import { eventually } from './waiting.js';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Further arguments of a command, as they are, and settings for it alone. */
export type Words = readonly (string | NodeJS.ProcessEnv)[];

/**
 * Runs commands in this process, because loading the product takes longer than most of them. The text of a command is split at
 * blanks, as by a shell.
 */
export function commandLine(environment: NodeJS.ProcessEnv, stop?: AbortSignal) {
  async function run(command: string, ...words: Words): Promise<CommandResult> {
    const [stdout, stderr] = [new Collector(), new Collector()];
    const { argv, env } = splitWords(command, words);
    const code = await runCli(argv, { env: { ...environment, ...env }, stdout, stderr, ...(stop && { stop }) });
    return { code, stdout: stdout.text, stderr: stderr.text };
  }

  /** What a command prints that has to succeed. */
  async function text(command: string, ...words: Words): Promise<string> {
    const { code, stdout, stderr } = await run(command, ...words);
    if (code !== 0) throw new Error(`${command}: ${stderr}${stdout}`);
    return stdout;
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests compare parts of it.
  async function json(command: string, ...words: Words): Promise<any> {
    return JSON.parse(await text(command, ...words, '--json'));
  }

  async function lines<Line>(command: string, ...words: Words): Promise<Line[]> {
    const printed = await text(command, ...words, '--json');
    return printed.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  }

  async function projectionsCaughtUp(): Promise<void> {
    const lags = async () => ((await json('projections status')) as { lag: number }[]).map(({ lag }) => lag);
    await eventually(lags, (found) => found.every((lag) => lag === 0));
  }

  return { run, text, json, lines, projectionsCaughtUp };
}

export function splitWords(command: string, words: Words): { argv: string[]; env: NodeJS.ProcessEnv } {
  const further = words.filter((word) => typeof word === 'string');
  return {
    argv: [...command.split(' '), ...further],
    env: Object.assign({}, ...words.filter((word) => typeof word !== 'string')),
  };
}
