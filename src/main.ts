import 'reflect-metadata';
import { setFlagsFromString } from 'node:v8';
import { startService } from './app/service.js';
import { messageOf, UserError } from './kernel/errors.js';
import { readSettings } from './kernel/settings.js';

// Requests in flight are promoted and die soon after: collected at half again the living heap instead of V8's several
// times, the process stays some 50 MB smaller under load. What that costs was within the noise.
setFlagsFromString('--heap-growing-percent=50');

try {
  const { banner } = await startService(readSettings(process.env));
  process.stdout.write(banner);
} catch (error) {
  // One clear line for what a person can mend; the whole story only for what is our fault.
  process.stderr.write(
    `${error instanceof UserError ? messageOf(error) : ((error as Error).stack ?? messageOf(error))}\n`,
  );
  process.exit(1);
}
