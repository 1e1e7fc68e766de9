// Loaded into the service by a drill that wants to see itself fail: whoever asks for a site gets it, although another
// process has it.
import pg from 'pg';

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function unclaimed(text, values, ...rest) {
  const isClaim = /INTO cc\.leases/.test(text) && String(values?.[0]).startsWith('outbound:');
  return query.call(this, isClaim ? text.replace('WHERE l.until < clock_timestamp()', '') : text, values, ...rest);
};
