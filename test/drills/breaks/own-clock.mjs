// The service judges by the clock of its own process instead of the database's.
import { fromBuild, mark, replace } from './service.mjs';

const { DatabaseClock } = await fromBuild('postgres/database-clock.js');
replace(DatabaseClock.prototype, 'nowMs', () => () => {
  mark('own-clock');
  return Date.now();
});
