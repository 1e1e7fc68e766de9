#!/usr/bin/env node
import { runCli } from './cli/run-cli.js';

// Once: a second signal ends the process immediately.
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
const { argv, env, stdin, stdout, stderr } = process;
const exitCode = await runCli(argv.slice(2), { env, stdin, stdout, stderr, stop: interrupt.signal });
// Everything is written and closed. A Kafka client may still be retrying its brokers, so the process is ended explicitly.
for (const stream of [stdout, stderr]) await new Promise((written) => stream.write('', written));
process.exit(exitCode);
