// The service judges by the clock of its own process instead of the database's.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { mark } from './mark.mjs';

const { DatabaseClock } = await import(
  pathToFileURL(join(process.env.DRILL_ROOT, 'dist/postgres/database-clock.js')).href
);
DatabaseClock.prototype.nowMs = () => {
  mark('own-clock');
  return Date.now();
};
