#!/usr/bin/env node
import { isStart } from './cli/start.command.js';

const { argv, env, stdin, stdout, stderr } = process;
if (isStart(argv.slice(2))) await startService();
else await runCommand();

/** In this process, so that a signal and the exit code are those of the service. */
async function startService(): Promise<void> {
  process.setSourceMapsEnabled(true);
  await import('./main.js');
}

async function runCommand(): Promise<never> {
  const { runCli } = await import('./cli/run-cli.js');
  // Once: a second signal ends the process immediately.
  const interrupt = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
  const exitCode = await runCli(argv.slice(2), { env, stdin, stdout, stderr, stop: interrupt.signal });
  // Everything is written and closed. A Kafka client may still be retrying its brokers, so the process is ended explicitly.
  for (const stream of [stdout, stderr]) await new Promise((written) => stream.write('', written));
  process.exit(exitCode);
}
