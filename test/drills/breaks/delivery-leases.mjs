// No delivery lease counts as held: every instance gets the lease of every delivery.
import { mark, pg } from './service.mjs';

const HAS_ENDED = /\(l\.until < to_timestamp[^\n]*? \+ 10\)\)/g;

const { query } = pg.Client.prototype;
pg.Client.prototype.query = function withoutLeases(config, ...rest) {
  const text = typeof config === 'string' ? config : config?.text;
  if (!text?.includes('cc.delivery_leases') || text.search(HAS_ENDED) < 0) return query.call(this, config, ...rest);
  mark('delivery-leases');
  const changed = text.replace(HAS_ENDED, '(true)');
  return query.call(this, typeof config === 'string' ? changed : { ...config, text: changed }, ...rest);
};
