#!/usr/bin/env node
import { runCli } from './cli/run-cli.js';

// Only the first signal stops the command gracefully; a second one ends the process at once.
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
const { argv, env, stdout, stderr } = process;
const exitCode = await runCli(argv.slice(2), { env, stdout, stderr, stop: interrupt.signal });
// Exit explicitly once all output is flushed: a Kafka client may still be retrying and would keep the process alive.
for (const stream of [stdout, stderr]) await new Promise((written) => stream.write('', written));
process.exit(exitCode);
