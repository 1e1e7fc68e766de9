// SIGTERM ends the process at once.
import { mark } from './service.mjs';

process.on('SIGTERM', () => {
  mark('abrupt-stop');
  process.exit(0);
});
