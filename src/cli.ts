#!/usr/bin/env node
import { runCli } from './cli/run-cli.js';

// Once: whoever asks a second time does not want to wait for a tidy end.
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
const { argv, env, stdout, stderr } = process;
const exitCode = await runCli(argv.slice(2), { env, stdout, stderr, stop: interrupt.signal });
// Said and closed by now. A Kafka client that nobody needs any more may go on trying to reach its brokers: nobody waits for it.
for (const stream of [stdout, stderr]) await new Promise((written) => stream.write('', written));
process.exit(exitCode);
