import { parseArgs } from 'node:util';
import { onParentEnd } from '../kernel/parent-process.js';
import { Sandbox } from './sandbox.js';

const DEFAULT_PORT = '8089';

const values = readArguments();
const port = Number(values.port);
if (!/^\d+$/.test(values.port) || port > 65_535)
  fail('--port must be a number from 0 to 65535; 0 selects a free port.');

const sandbox = new Sandbox(values['no-ids'] ? { idsMax: 0 } : {});
const { url, stop } = await sandbox
  .start(port)
  .catch((error: NodeJS.ErrnoException) =>
    error.code === 'EADDRINUSE' ? fail(`Port ${port} is in use. Select another one with --port.`) : fail(error.message),
  );
process.stdout.write(`Sandbox listens on ${url}\n`);

const end = () => void stop().then(() => process.exit(0));
process.once('SIGTERM', end);
process.once('SIGINT', end);
if (values['with-parent']) onParentEnd(end);

function readArguments() {
  try {
    return parseArgs({
      options: {
        port: { type: 'string', default: process.env['PORT'] ?? DEFAULT_PORT },
        // Only counters, for long runs under load.
        'no-ids': { type: 'boolean', default: false },
        // Stops when its parent process ends, even if that was killed.
        'with-parent': { type: 'boolean', default: false },
      },
    }).values;
  } catch (error) {
    return fail(`${(error as Error).message}. The options are --port N, --no-ids and --with-parent.`);
  }
}

function fail(message: string): never {
  process.stderr.write(`${message}\n`);
  process.exit(1);
}
