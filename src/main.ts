import 'reflect-metadata';
import { messageOf, UserError } from './kernel/errors.js';
import { readSettings } from './kernel/settings.js';
import { startService } from './service.js';

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
