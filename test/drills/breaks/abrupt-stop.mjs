// SIGTERM ends the process at once.
import { mark } from './mark.mjs';

process.on('SIGTERM', () => {
  mark('abrupt-stop');
  process.exit(0);
});
