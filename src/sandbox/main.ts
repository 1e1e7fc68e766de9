import { parseArgs } from 'node:util';
import { Sandbox } from './sandbox.js';

const DEFAULT_PORT = '8089';
const LOOK_FOR_PARENT_EVERY_MS = 1_000;

const values = readArguments();
const port = Number(values.port);
if (!/^\d+$/.test(values.port) || port > 65_535) fail('--port takes a number from 0 to 65535, 0 for any that is free.');

const sandbox = new Sandbox(values['no-ids'] ? { idsMax: 0 } : {});
const { url, stop } = await sandbox
  .start(port)
  .catch((error: NodeJS.ErrnoException) =>
    error.code === 'EADDRINUSE' ? fail(`Port ${port} is in use. Choose another with --port.`) : fail(error.message),
  );
process.stdout.write(`Sandbox listens on ${url}\n`);

const end = () => void stop().then(() => process.exit(0));
process.once('SIGTERM', end);
process.once('SIGINT', end);
if (values['with-parent']) {
  const parent = process.ppid;
  setInterval(() => process.ppid !== parent && end(), LOOK_FOR_PARENT_EVERY_MS).unref();
}

function readArguments() {
  try {
    return parseArgs({
      options: {
        port: { type: 'string', default: process.env['PORT'] ?? DEFAULT_PORT },
        // Counters only: for long runs under load.
        'no-ids': { type: 'boolean', default: false },
        // Ends with the process that started it, however that one ends.
        'with-parent': { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return fail(`${(error as Error).message}. It takes --port N, --no-ids and --with-parent.`);
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
