// The service judges by the clock of its own process instead of the database's.
import { fromBuild, mark } from './service.mjs';

const { DatabaseClock } = await fromBuild('postgres/database-clock.js');
DatabaseClock.prototype.nowMs = () => {
  mark('own-clock');
  return Date.now();
};
