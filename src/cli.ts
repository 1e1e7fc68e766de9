#!/usr/bin/env node
import { runCli } from './cli/run-cli.js';

// Once: whoever asks a second time does not want to wait for a tidy end.
const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());
const { argv, env, stdout, stderr } = process;
process.exitCode = await runCli(argv.slice(2), { env, stdout, stderr, stop: interrupt.signal });
